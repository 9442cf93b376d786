// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/detail/simd_vector.hpp>
#include <cohort/execution/isa.hpp>
#include <cohort/tensor/bf16.hpp>
#include <cstddef>
#include <cstdint>

namespace cohort::detail {

namespace baseline_f32 {
#include <cohort/execution/detail/bf16_simd.inc>
}
#if defined(__x86_64__) || defined(__i386__)
#include <cohort/execution/detail/begin_avx2.inc>
namespace avx2_f32 {
#include <cohort/execution/detail/bf16_simd.inc>
}
#include <cohort/execution/detail/begin_avx512.inc>
namespace avx512_f32 {
#include <cohort/execution/detail/bf16_simd.inc>
}
#include <cohort/execution/detail/end_simd.inc>
#endif

/// Passes between f32 and bf16, of n elements.
///
/// Before    `which` is at most machine_isa(); arrays do not overlap.
/// Exact     as bf16::nearest and bf16::value, on every instruction set.

/// q = nearest(w + kept), then w = w + kept − q.
inline void round_to_bf16([[maybe_unused]] isa which, float* w, float const* kept, bf16* q, std::size_t n) {
  auto* const patterns = &q->pattern;
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) return avx512_f32::round_to_bf16(w, kept, patterns, n);
  if (which == isa::avx2) return avx2_f32::round_to_bf16(w, kept, patterns, n);
#endif
  baseline_f32::round_to_bf16(w, kept, patterns, n);
}

/// w = q
inline void widen([[maybe_unused]] isa which, bf16 const* q, float* w, std::size_t n) {
  auto const* const patterns = &q->pattern;
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) return avx512_f32::widen_bf16(patterns, w, n);
  if (which == isa::avx2) return avx2_f32::widen_bf16(patterns, w, n);
#endif
  baseline_f32::widen_bf16(patterns, w, n);
}

/// Whether none is infinite or NaN.
inline bool all_finite([[maybe_unused]] isa which, bf16 const* q, std::size_t n) {
  auto const* const patterns = &q->pattern;
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) return avx512_f32::all_finite_bf16(patterns, n);
  if (which == isa::avx2) return avx2_f32::all_finite_bf16(patterns, n);
#endif
  return baseline_f32::all_finite_bf16(patterns, n);
}

}  // namespace cohort::detail
