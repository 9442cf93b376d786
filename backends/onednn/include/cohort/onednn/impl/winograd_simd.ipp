// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/execution/detail/simd_vector.hpp>
#include <cohort/onednn/detail/winograd_simd.hpp>

namespace cohort::detail {

COHORT_ONEDNN_INLINE void winograd_input([[maybe_unused]] isa which, float const* const* pixels,
                                         std::size_t channels, float* to, std::size_t step) {
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) return avx512_f32::winograd_input(pixels, channels, to, step);
  if (which == isa::avx2) return avx2_f32::winograd_input(pixels, channels, to, step);
#endif
  baseline_f32::winograd_input(pixels, channels, to, step);
}

}  // namespace cohort::detail
