// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/batch_sums.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/tensor/shape.hpp>
#include <cohort/tensor/view.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cohort {

/// What a loss layer found: the weighted sum over the examples, not the mean.
struct loss_sum {
  double sum = 0;
};

/// What changes from step to step beside tensors, as a device has it; `weight` is that of all examples of this part of the batch.
struct step_constants {
  double gradient_scale = 1;
  double weight = 0;
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
};

/// What changes from step to step beside tensors.
///
/// Units     `gradient_scale` is 1 / Σ of the weights of the rank's whole batch: it makes the mean.
/// Shapes    `weights`, `indices`: one an example, or null: weights of 1; indices 0, 1, …. They lie where arenas lie.
struct step_scalars {
  double gradient_scale = 1;
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  float const* weights = nullptr;
  std::int64_t const* indices = nullptr;
  batch_sums* sums = nullptr;  ///< over the parts of a batch; null: this is all of it
  step_constants const* device_passes =
      nullptr;  ///< the same where arenas lie, if that is not the processor's memory

  double weight(int example) const { return weights ? static_cast<double>(weights[example]) : 1.0; }
  /// Of all examples.
  double weight_of(int batch) const {
    double sum = 0;
    for (int example = 0; example < batch; ++example) sum += weight(example);
    return sum;
  }
  /// The example's number in the data set.
  std::uint64_t index(int example) const {
    return static_cast<std::uint64_t>(indices ? indices[example] : example);
  }
};

/// What a loss asks of the target of an example: an index below `classes` (i32) where that is above 0, or numbers of the
/// shape `values` from `lowest` to `highest` where `numbers` says so. Either where both are allowed.
struct target_spec {
  static constexpr double unbounded = 1e300;

  int classes = 0;
  bool numbers = false;
  shape values{};
  double lowest = -unbounded;
  double highest = unbounded;

  /// Whether `count` examples may have targets of this type and shape: indices, or numbers for a network that computes in
  /// `own`.
  constexpr bool takes_indices(element_type type, shape const& dims, int count) const {
    return classes > 0 && type == element_type::i32 && dims.elements() == count;
  }
  constexpr bool takes_numbers(element_type type, shape const& dims, int count, element_type own) const {
    return numbers && (type == element_type::f32 || type == own) && dims == values.batched(count);
  }
  constexpr bool takes_any_number() const { return lowest == -unbounded && highest == unbounded; }
  /// A number that it takes, not far from 0 if it takes any, for a share from 0 to 1.
  constexpr double between(double share) const {
    double const least = lowest > -unbounded ? lowest : highest < unbounded ? highest - 2 : -1;
    return least + share * ((highest < unbounded ? highest : least + 2) - least);
  }
  constexpr bool operator==(target_spec const&) const = default;
};

/// What a layer's own kernels work on: dense row-major tensors, `batch` examples each; parameters are canonical.
///
/// Shapes    inputs[i] batch × input_shapes[i]; output batch × output_shape; diff_x as x. `workspace` as many elements as the
///           layer asked for; forward leaves there what backward needs (null at inference).
/// Before    forward: inputs, parameters are filled, output is to be written.
///           backward: diff_output is filled too; diff_inputs[i] (null where nobody needs it) and every
///           diff_parameters[p] are to be overwritten; output still holds what forward wrote, and inputs what they held, but
///           for a layer that works `in_place`: null.
///           `scalars` only where the layer `reads_scalars` or is a loss, and is training. A loss has no diff_output; `target`
///           holds i32 or T, and forward writes `loss`: both null at inference.
///           `training` is false in both passes of a layer that is frozen: they run as at inference does.
/// Units     diff_parameters are sums over the batch: the loss has the mean's factor in it already. Of running statistics
///           they are what `running_statistics` says.
template <class T>
struct host_arguments {
  int batch = 0;
  bool training = true;
  std::uint64_t layer = 0;  ///< of this name: a purpose for random streams
  std::span<shape const> input_shapes{};
  shape output_shape{};
  T const* const* inputs = nullptr;
  T* output = nullptr;
  T const* const* parameters = nullptr;
  T* workspace = nullptr;
  step_scalars const* scalars = nullptr;
  tensor_view const* target = nullptr;
  loss_sum* loss = nullptr;
  T const* diff_output = nullptr;
  T* const* diff_inputs = nullptr;
  T* const* diff_parameters = nullptr;

  std::size_t elements_of_input(std::size_t i = 0) const {
    return static_cast<std::size_t>(batch) * static_cast<std::size_t>(input_shapes[i].elements());
  }
  std::size_t elements_of_output() const {
    return static_cast<std::size_t>(batch) * static_cast<std::size_t>(output_shape.elements());
  }
  /// Random numbers for example `n` of this layer in this step: the same on any number of ranks and threads.
  random_stream random(int n) const {
    return {scalars->seed, layer, static_cast<std::uint64_t>(scalars->step), scalars->index(n)};
  }
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
