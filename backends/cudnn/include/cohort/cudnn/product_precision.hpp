// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cohort::detail {

/// What a product's factors, which are f32, are rounded to: not at all, or to TF32 for tensor cores, 11 significant bits with f32's
/// range. Sums are f32.
/// Source    NVIDIA A100 Tensor Core GPU Architecture, 2020.
enum class product_precision { f32, tf32 };

}  // namespace cohort::detail
