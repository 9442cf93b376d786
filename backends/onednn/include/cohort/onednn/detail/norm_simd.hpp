// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cohort/execution/detail/simd_vector.hpp>
#include <cohort/execution/isa.hpp>
#include <cohort/tensor/bf16.hpp>
#include <cstddef>
#include <cstdint>

namespace cohort::detail {

/// Rows of `width` channels one behind the other, in segments that begin `stride` elements apart.
struct norm_rows {
  std::size_t segments, rows, stride, width;
};

/// What a norm does to the elements of each channel, and the rectifier behind it to all.
///
/// Shapes    width numbers each.
struct norm_factors {
  float const* mean;
  float const* factor;  ///< scale / deviation
  float const* shift;
  float const* of_mean;       ///< what backward subtracts from every gradient of a channel,
  float const* of_deviation;  ///< and for each unit of x − mean
  float slope;                ///< below zero; 1: no rectifier
};

/// A norm's passes over a tensor's rows; z = (x − mean)·factor + shift (+ other, if not null).
///
///     moments   x → Σ (x − around), Σ (x − around)²
///     forward   x, other → y            y = z > 0 ? z : slope·z
///     sums      x, y, dy → gated        gated = y > 0 ? dy : slope·dy, and Σ gated, Σ gated·(x − mean); without y, z says which
///     backward  x, gated → dx           dx = factor·(gated − of_mean − (x − mean)·of_deviation)
///
/// Shapes    x, y, …: the rows, of f32 or bf16;  around, sums: width.
/// Order     y may lie where x or other lies, gated where dy lies, dx where gated lies.
/// Exact     sums are of f32.
struct norm_passes {
  void (*moments)(norm_rows const& over, void const* x, float const* around, float* sum, float* squares);
  void (*forward)(norm_rows const& over, void const* x, void const* other, void* y, norm_factors const& by);
  void (*sums)(norm_rows const& over, void const* x, void const* y, void const* dy, void* gated,
               norm_factors const& by, float* sum, float* along);
  void (*backward)(norm_rows const& over, void const* x, void const* gated, void* dx, norm_factors const& by);
};

/// The passes of this machine for f32; of bf16 those for AVX-512, which onednn_bf16 needs, whatever `which` says.
norm_passes norm_passes_for([[maybe_unused]] isa which, [[maybe_unused]] bool narrow);

}  // namespace cohort::detail

#ifndef COHORT_ONEDNN_COMPILED
#include <cohort/onednn/impl/norm_simd.ipp>
#endif
