// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cohort/execution/detail/exponential_simd.hpp>
#include <cohort/layer/detail/softmax_row.hpp>
#include <cstdint>

namespace cohort::detail {

namespace baseline_f32 {
#include <cohort/layer/detail/softmax_simd.inc>
}
#if defined(__x86_64__) || defined(__i386__)
#include <cohort/detail/begin_avx2.inc>
namespace avx2_f32 {
#include <cohort/layer/detail/softmax_simd.inc>
}
#include <cohort/detail/begin_avx512.inc>
namespace avx512_f32 {
#include <cohort/layer/detail/softmax_simd.inc>
}
#include <cohort/detail/end_simd.inc>
#endif

softmax_sums<float> softmax_in_vectors([[maybe_unused]] isa which, float const* x, float* p,
                                       std::size_t count) {
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) return avx512_f32::normalised_exponentials(x, p, count);
  if (which == isa::avx2) return avx2_f32::normalised_exponentials(x, p, count);
#endif
  return baseline_f32::normalised_exponentials(x, p, count);
}

}  // namespace cohort::detail
