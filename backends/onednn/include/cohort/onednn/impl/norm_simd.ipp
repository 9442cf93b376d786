// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/onednn/detail/norm_simd.hpp>

namespace cohort::detail {

COHORT_ONEDNN_INLINE norm_passes norm_passes_for([[maybe_unused]] isa which, [[maybe_unused]] bool narrow) {
#if defined(__x86_64__) || defined(__i386__)
  if (narrow) return avx512_bf16::passes_of_norm;
  if (which == isa::avx512) return avx512_f32::passes_of_norm;
  if (which == isa::avx2) return avx2_f32::passes_of_norm;
#endif
  return baseline_f32::passes_of_norm;
}

}  // namespace cohort::detail
