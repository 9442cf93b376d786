// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/isa.hpp>
#include <cstddef>

namespace cohort::detail {

/// Rows of `width` channels in `segments` segments. Each segment has `rows` contiguous rows; segments begin
/// `stride` elements apart.
struct norm_rows {
  std::size_t segments, rows, stride, width;
};

/// Per-channel values of a norm, and the slope of the rectifier after it.
///
/// Shapes    `width` values each.
struct norm_factors {
  float const* mean;
  float const* factor;  ///< scale / deviation
  float const* shift;
  float const* of_mean;       ///< subtracted from each gradient, see norm_passes
  float const* of_deviation;  ///< times x − mean, subtracted from each gradient
  float slope;                ///< slope of the rectifier below zero; 1: no rectifier
};

/// A norm's passes over a tensor's rows; z = (x − mean)·factor + shift (+ other, if not null).
///
///     moments   x → Σ (x − pivot), Σ (x − pivot)²
///     forward   x, other → y            y = z > 0 ? z : slope·z
///     sums      x, y, dy → gated        gated = y > 0 ? dy : slope·dy (z for y if y is null),
///                                       Σ gated, Σ gated·(x − mean)
///     backward  x, gated → dx           dx = factor·(gated − of_mean − (x − mean)·of_deviation)
///
/// Shapes    x, y, …: the rows, of f32 or bf16;  pivot, sums: width.
/// Order     y may alias x or other, gated may alias dy, dx may alias gated.
/// Exact     sums are f32.
struct norm_passes {
  void (*moments)(norm_rows const& over, void const* x, float const* pivot, float* sum, float* squares);
  void (*forward)(norm_rows const& over, void const* x, void const* other, void* y, norm_factors const& by);
  void (*sums)(norm_rows const& over, void const* x, void const* y, void const* dy, void* gated,
               norm_factors const& by, float* sum, float* products);
  void (*backward)(norm_rows const& over, void const* x, void const* gated, void* dx, norm_factors const& by);
};

/// Returns the f32 passes for an instruction set. If `narrow`, ignores `which` and returns the bf16 passes
/// for AVX-512, which onednn_bf16 requires.
norm_passes norm_passes_for([[maybe_unused]] isa which, [[maybe_unused]] bool narrow);

}  // namespace cohort::detail
