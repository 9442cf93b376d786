// SPDX-License-Identifier: Apache-2.0
#include <cohort/execution/detail/simd_parts.hpp>
#include <cohort/onednn/detail/norm_simd.hpp>

namespace cohort::detail {

namespace baseline_f32 {
#include <cohort/onednn/detail/norm_simd.inc>
}  // namespace baseline_f32

#if defined(__x86_64__) || defined(__i386__)
#include <cohort/detail/begin_avx2.inc>
namespace avx2_f32 {
#include <cohort/onednn/detail/norm_simd.inc>
}  // namespace avx2_f32
#include <cohort/detail/begin_avx512.inc>
namespace avx512_f32 {
#include <cohort/onednn/detail/norm_simd.inc>
}  // namespace avx512_f32
namespace avx512_bf16 {
#include <cohort/onednn/detail/norm_simd.inc>
}  // namespace avx512_bf16
#include <cohort/detail/end_simd.inc>
#endif

norm_passes norm_passes_for([[maybe_unused]] isa which, [[maybe_unused]] bool narrow) {
#if defined(__x86_64__) || defined(__i386__)
  if (narrow) return avx512_bf16::passes_of_norm;
  if (which == isa::avx512) return avx512_f32::passes_of_norm;
  if (which == isa::avx2) return avx2_f32::passes_of_norm;
#endif
  return baseline_f32::passes_of_norm;
}

}  // namespace cohort::detail
