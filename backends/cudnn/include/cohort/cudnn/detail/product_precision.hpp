// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cohort::detail {

/// Precision of the operands of products: f32; TF32 (f32 that tensor cores round to 11 significant bits, with
/// f32's range); or bf16. Sums are f32.
/// Source    NVIDIA A100 Tensor Core GPU Architecture, 2020.
enum class product_precision { f32, tf32, bf16 };

constexpr char const* name_of(product_precision products) {
  return products == product_precision::f32 ? "f32" : products == product_precision::tf32 ? "TF32" : "bf16";
}

}  // namespace cohort::detail
