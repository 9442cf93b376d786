// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/gpu_operation.hpp>
#include <limits>

namespace cohort::detail {

element_type gpu_target::type() const {
  return products == product_precision::bf16 ? element_type::bf16 : element_type::f32;
}

product_precision gpu_target::products_of_f32() const {
  return products == product_precision::f32 ? product_precision::f32 : product_precision::tf32;
}

shape batched_input(gpu_request const& of, std::size_t i) { return of.input_shapes[i].batched(of.batch); }

shape shape_for_elements(std::size_t elements) {
  constexpr std::size_t row = std::size_t{1} << 20;
  if (elements <= std::numeric_limits<int>::max()) return {static_cast<int>(elements)};
  return {static_cast<int>((elements + row - 1) / row), static_cast<int>(row)};
}

kernels::step_constants const* constants_of(step_scalars const& now) {
  using here = step_constants;
  using there = kernels::step_constants;
  static_assert(
      sizeof(here) == sizeof(there) && offsetof(here, gradient_scale) == offsetof(there, gradient_scale)
      && offsetof(here, seed) == offsetof(there, seed) && offsetof(here, step) == offsetof(there, step));
  return reinterpret_cast<kernels::step_constants const*>(now.on_device);
}

unsigned char const* mask_at(std::span<void* const> arguments, std::size_t i) {
  return i < arguments.size() ? static_cast<step_mask const*>(arguments[i])->on_device : nullptr;
}

float* tensor_at(std::span<void* const> arguments, std::size_t i) {
  return static_cast<float*>(arguments[i]);
}

kernels::values values_at(std::span<void* const> arguments, std::size_t i, gpu_layout const& layout) {
  return {arguments[i], layout.is_narrow()};
}

}  // namespace cohort::detail
