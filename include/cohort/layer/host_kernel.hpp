// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tensor/shape.hpp>
#include <span>

namespace cohort {

/// What a layer's own kernels work on: dense row-major tensors, `batch` examples each; parameters are canonical.
///
/// Shapes    inputs[i] batch × input_shapes[i]; output batch × output_shape; diff_x as x.
/// Before    forward: inputs, parameters are filled, output is to be written.
///           backward: diff_output is filled too; diff_inputs[i] (null where nobody needs it) and every
///           diff_parameters[p] are to be overwritten; output still holds what forward wrote.
/// Units     diff_parameters are sums over the batch: the loss has the mean's factor in it already.
template <class T>
struct host_arguments {
  int batch = 0;
  std::span<shape const> input_shapes{};
  shape output_shape{};
  T const* const* inputs = nullptr;
  T* output = nullptr;
  T const* const* parameters = nullptr;
  T const* diff_output = nullptr;
  T* const* diff_inputs = nullptr;
  T* const* diff_parameters = nullptr;
};

/// A layer that brings its own kernels, templates on float and double: it runs on every backend of the CPU.
template <class L, class T>
concept has_host_kernels = requires(L const& layer, host_arguments<T> const& arguments) {
  layer.forward(arguments);
  layer.backward(arguments);
};

/// The kernels of one kind behind its encoded field values.
template <class T>
struct host_kernel {
  void (*forward)(double const* values, host_arguments<T> const&) = nullptr;
  void (*backward)(double const* values, host_arguments<T> const&) = nullptr;
};

}  // namespace cohort
