// SPDX-License-Identifier: Apache-2.0
#include <cohort/execution/detail/bf16_simd.hpp>
#include <cohort/execution/detail/bf16_simd_variants.hpp>

namespace cohort::detail {

void round_to_bf16([[maybe_unused]] isa which, float* w, float const* residual, bf16* q, std::size_t n) {
  auto* const patterns = &q->pattern;
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) return avx512_f32::round_to_bf16(w, residual, patterns, n);
  if (which == isa::avx2) return avx2_f32::round_to_bf16(w, residual, patterns, n);
#endif
  baseline_f32::round_to_bf16(w, residual, patterns, n);
}

void widen([[maybe_unused]] isa which, bf16 const* q, float* w, std::size_t n) {
  auto const* const patterns = &q->pattern;
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) return avx512_f32::widen_bf16(patterns, w, n);
  if (which == isa::avx2) return avx2_f32::widen_bf16(patterns, w, n);
#endif
  baseline_f32::widen_bf16(patterns, w, n);
}

bool all_finite([[maybe_unused]] isa which, bf16 const* q, std::size_t n) {
  auto const* const patterns = &q->pattern;
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) return avx512_f32::all_finite_bf16(patterns, n);
  if (which == isa::avx2) return avx2_f32::all_finite_bf16(patterns, n);
#endif
  return baseline_f32::all_finite_bf16(patterns, n);
}

}  // namespace cohort::detail
