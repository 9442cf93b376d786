// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/execution/detail/simd_vector.hpp>
#include <cohort/prediction/detail/decoder_passes.hpp>
#include <limits>

namespace cohort::detail {

namespace baseline_f32 {
#include <cohort/prediction/detail/decoder_passes.inc>
}  // namespace baseline_f32

#if defined(__x86_64__) || defined(__i386__)
#include <cohort/detail/begin_avx2.inc>
namespace avx2_f32 {
#include <cohort/prediction/detail/decoder_passes.inc>
}  // namespace avx2_f32
#include <cohort/detail/begin_avx512.inc>
namespace avx512_f32 {
#include <cohort/prediction/detail/decoder_passes.inc>
}  // namespace avx512_f32
#include <cohort/detail/end_simd.inc>
#endif

decoder_passes decoder_passes_for([[maybe_unused]] isa which) {
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) return avx512_f32::passes_of_decoder;
  if (which == isa::avx2) return avx2_f32::passes_of_decoder;
#endif
  return baseline_f32::passes_of_decoder;
}

}  // namespace cohort::detail
