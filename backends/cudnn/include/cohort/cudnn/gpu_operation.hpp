// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/host_call.hpp>
#include <cohort/backend/operation.hpp>
#include <cohort/cudnn/detail/compute_stream.hpp>
#include <cohort/cudnn/detail/gpu_layout.hpp>
#include <cohort/cudnn/detail/implementation.hpp>
#include <cohort/cudnn/detail/product_precision.hpp>
#include <cohort/layer/host_kernel.hpp>
#include <cohort/layer/kind.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cohort {
class tuning;
}

/// A step of a plan on a GPU: host functions that enqueue kernels in the stream.
namespace cohort::detail {

using gpu_request = basic_request<gpu_layout>;
using gpu_operation = basic_operation<host_function, gpu_layout>;
using gpu_invocation = basic_invocation<host_function, gpu_layout>;
using gpu_operands = std::vector<operand<gpu_layout>>;
using shared_stream = std::shared_ptr<compute_stream const>;

class blas_on_gpu;
class dnn_on_gpu;

/// Stream, libraries, precision and autotuner that a backend's operations use.
struct gpu_target {
  shared_stream stream;
  std::shared_ptr<blas_on_gpu const> blas;
  std::shared_ptr<dnn_on_gpu const> dnn;
  product_precision products = product_precision::f32;
  tuning* tune = nullptr;  ///< null: the first algorithm that a library proposes

  /// Returns the element type of the operands and outputs of products.
  element_type type() const;
  /// Returns the precision of products whose operands are f32 on all three backends.
  product_precision products_of_f32() const;
  /// Returns the text for the plan's table: the library, and whether its algorithm is tuned.
  std::string implementation(std::string const& library) const { return library + (tune ? ", tuned" : ""); }
};

/// Returns the shape of input i or of the output, with the batch.
shape batched_input(gpu_request const& of, std::size_t i = 0);
inline shape batched_output(gpu_request const& of) { return of.output_shape.batched(of.batch); }

/// Returns the shape of an f32 tensor of at least `elements` elements: exactly as many if `elements` is below
/// 2³¹.
shape shape_for_elements(std::size_t elements);
/// Returns the shape of an f32 tensor of at least `bytes` bytes.
inline shape shape_for_bytes(std::size_t bytes) {
  return shape_for_elements((bytes + sizeof(float) - 1) / sizeof(float));
}

/// Returns the device address of the constants that change from step to step.
kernels::step_constants const* constants_of(step_scalars const& now);

/// Returns argument i as a mask in device memory; null if there is no argument i.
unsigned char const* mask_at(std::span<void* const> arguments, std::size_t i);

/// Returns argument i as the address of an f32 tensor.
float* tensor_at(std::span<void* const> arguments, std::size_t i);
/// Returns argument i as the address of a tensor in the given layout.
kernels::values values_at(std::span<void* const> arguments, std::size_t i, gpu_layout const& layout);

}  // namespace cohort::detail
