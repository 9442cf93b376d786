// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/host_kernel.hpp>
#include <cohort/tensor/shape.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

/// Kernels that a layer composes of a backend's matrix products and functions of its own. The backend
/// prepares the products, with the parameters in the layouts that suit it; the layer determines their order.
namespace cohort::detail {

/// A matrix product, prepared for fixed sizes.
///
/// Order     one call at a time; copies made by `clone` are independent. `scratch`: memory of at least
///           product_backend::scratch_bytes, for this call only.
class prepared_product {
 public:
  virtual ~prepared_product() = default;
  virtual std::unique_ptr<prepared_product> clone() const = 0;
  virtual void run(void const* left, void const* right, void* to, void* scratch) const = 0;
};

/// m × n results of sums of k terms.
///
///     by_transpose   to = left · Pᵀ      left m×k, parameter P n×k
///     by_parameter   to = left · P       left m×k, parameter P k×n
///     gradient       to = leftᵀ · right  left k×m with rows of `left_stride`, right k×n, to in f32
///
/// Shapes    row-major and packed, but for a parameter's layout and left_stride. `left` and `right` have the
///           type of the elements, `to` that of the elements if `narrow_result`, else f32.
/// Order     by_parameter: in backward, the others: by_transpose in forward, gradient in backward.
struct product_request {
  enum class form : std::uint8_t { by_transpose, by_parameter, gradient };
  form what = form::by_transpose;
  int parameter = 0;  ///< unless it is a gradient
  int m = 0;
  int n = 0;
  int k = 0;
  bool narrow_result = false;
  int left_stride = 0;  ///< gradient only
};

/// A backend's interface for composed kernels.
class product_backend {
 public:
  /// Returns the prepared product.
  ///
  /// Errors    backend_error naming the layer, if the backend has no fast implementation.
  virtual std::unique_ptr<prepared_product> prepare(product_request const& request) = 0;

  bool narrow = false;            ///< elements are bf16, not f32
  std::size_t scratch_bytes = 0;  ///< of the products prepared so far, at most
  int threads = 1;                ///< that in_parallel uses at most
  /// Calls run(with, part, parts) for each part on a thread of its own.
  void (*in_parallel)(int most, void (*run)(void const* with, int part, int parts),
                      void const* with) = nullptr;

 protected:
  ~product_backend() = default;
};

/// The step of a plan that a composed kernel is for.
struct composed_request {
  std::span<shape const> inputs;
  int batch = 0;
  std::uint64_t layer = 0;  ///< as in host_arguments
  bool training = false;    ///< has a backward
  bool frozen = false;
  bool masked = false;
  std::span<char const> wants_diff_input;  ///< one per input
};

/// Forward and backward of a layer. A copy can run beside the original.
///
/// Shapes    inputs, outputs and their gradients: dense, of the type of the elements. Parameters that a
///           product multiplies: in its layout; the others, and all gradients of parameters: dense f32.
/// Order     arguments: scratch memory; if training, the workspace; step_scalars if read; if masked, the
///           step_mask; forward: inputs and output; backward: gradients of the output and, if wanted, of each
///           input; the parameters; backward unless frozen: their gradients. Without training, the workspace
///           is a part of the scratch memory. With `reads_tensors`, the inputs and the output are arguments
///           of backward, too, before the gradients.
struct composed_kernel {
  using function = std::function<void(std::span<void* const> arguments)>;
  function forward{};
  function backward{};  ///< empty unless training
  bool reads_scalars = false;
  std::size_t workspace_bytes = 0;
  std::size_t scratch_bytes = 0;  ///< of either pass, with that of the products
  bool reads_tensors = false;     ///< in backward
  std::string implementation{};
};

}  // namespace cohort::detail
