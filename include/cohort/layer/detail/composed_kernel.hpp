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

/// Kernels that a layer composes from a backend's matrix products and the layer's functions. The backend
/// prepares the products and selects the layouts of the parameters; the layer determines the order of the
/// products.
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

/// Request for a matrix product with m × n results, each a sum of k terms.
///
///     by_transpose   to = left · Pᵀ      left m×k, parameter P n×k
///     by_parameter   to = left · P       left m×k, parameter P k×n
///     gradient       to = leftᵀ · right  left k×m with rows of `left_stride`, right k×n, to in f32
///
/// Shapes    row-major and packed, except that a parameter has its own layout and rows of `left` may have a
///           stride (`left_stride`). `left` and `right` have the backend's element type (see `narrow`). `to`
///           has this type if `narrow_result`, otherwise f32.
/// Order     forward runs by_transpose; backward runs by_parameter and gradient.
struct product_request {
  enum class form : std::uint8_t { by_transpose, by_parameter, gradient };
  form what = form::by_transpose;
  int parameter = 0;  ///< index; not used by `gradient`
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
  std::size_t scratch_bytes = 0;  ///< maximum of the products prepared so far
  int threads = 1;                ///< maximum number of threads of in_parallel
  /// Calls run(with, part, parts) for each of at most `most` parts, each on a separate thread.
  void (*in_parallel)(int most, void (*run)(void const* with, int part, int parts),
                      void const* with) = nullptr;

 protected:
  ~product_backend() = default;
};

/// The step of a plan for which a layer composes kernels.
struct composed_request {
  std::span<shape const> inputs;
  int batch = 0;
  std::uint64_t layer = 0;  ///< as in host_arguments
  bool training = false;    ///< the step has a backward pass
  bool frozen = false;
  bool masked = false;
  std::span<char const> wants_diff_input;  ///< one per input
};

/// Forward and backward of a layer. A copy can run at the same time as the original.
///
/// Shapes    inputs, outputs and their gradients: dense, of the backend's element type. Parameters that a
///           product multiplies: in the product's layout; other parameters and all gradients of parameters:
///           dense f32.
/// Order     the arguments of both passes, in this order:
///           1. the scratch memory, and in training the workspace; at inference, the workspace is a part of
///              the scratch memory
///           2. step_scalars if `reads_scalars`, and step_mask if the step is masked
///           3. forward: the inputs and the output
///           4. backward: the inputs and the output if `reads_tensors`, then the gradient of the output and
///              of each input whose gradient is wanted
///           5. the parameters, and in backward, unless frozen, the gradients of the parameters
struct composed_kernel {
  using function = std::function<void(std::span<void* const> arguments)>;
  function forward{};
  function backward{};  ///< empty unless training
  bool reads_scalars = false;
  std::size_t workspace_bytes = 0;
  std::size_t scratch_bytes = 0;  ///< enough for either pass and its products
  bool reads_tensors = false;     ///< in backward
  std::string implementation{};
};

}  // namespace cohort::detail
