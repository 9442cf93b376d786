// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/execution/detail/simd_vector.hpp>
#include <cohort/prediction/detail/decoder_passes.hpp>
#include <limits>

namespace cohort::detail {

#define COHORT_SIMD_BODY <cohort/prediction/detail/decoder_passes.inc>
#include <cohort/detail/simd_variants.inc>

decoder_passes decoder_passes_for([[maybe_unused]] isa which) {
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) return avx512_f32::passes_of_decoder;
  if (which == isa::avx2) return avx2_f32::passes_of_decoder;
#endif
  return baseline_f32::passes_of_decoder;
}

}  // namespace cohort::detail
