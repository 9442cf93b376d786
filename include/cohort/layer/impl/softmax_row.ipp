// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cohort/execution/detail/exponential_simd.hpp>
#include <cohort/layer/detail/softmax_row.hpp>
#include <cstdint>

namespace cohort::detail {

#define COHORT_SIMD_BODY <cohort/layer/detail/softmax_simd.inc>
#include <cohort/detail/simd_variants.inc>

softmax_sums<float> softmax_in_vectors([[maybe_unused]] isa which, float const* x, float* p,
                                       std::size_t count) {
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) return avx512_f32::normalised_exponentials(x, p, count);
  if (which == isa::avx2) return avx2_f32::normalised_exponentials(x, p, count);
#endif
  return baseline_f32::normalised_exponentials(x, p, count);
}

}  // namespace cohort::detail
