// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/layer/detail/cell_functions.hpp>

namespace cohort::detail {

namespace cell_f32 {
using number = float;
using real = number;
inline constexpr std::size_t lanes = 1;
#include <cohort/layer/detail/cell_scalar.inc>
#include <cohort/layer/detail/cell_simd.inc>
}  // namespace cell_f32

namespace cell_f64 {
using number = double;
using real = number;
inline constexpr std::size_t lanes = 1;
#include <cohort/layer/detail/cell_scalar.inc>
#include <cohort/layer/detail/cell_simd.inc>
}  // namespace cell_f64

template <>
cell_functions<float, float> plain_cell_functions<float>(cell_kind kind) {
  return cell_f32::functions_with<cell_f32::any_function, cell_f32::any_function>(kind);
}

template <>
cell_functions<double, double> plain_cell_functions<double>(cell_kind kind) {
  return cell_f64::functions_with<cell_f64::any_function, cell_f64::any_function>(kind);
}

}  // namespace cohort::detail
