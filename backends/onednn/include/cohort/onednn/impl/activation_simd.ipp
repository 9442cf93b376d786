// SPDX-License-Identifier: Apache-2.0
#include <cohort/execution/detail/exponential_simd.hpp>
#include <cohort/execution/detail/simd_parts.hpp>
#include <cohort/onednn/detail/activation_simd.hpp>
#include <cstdint>

namespace cohort::detail {

namespace baseline_f32 {
#include <cohort/onednn/detail/activation_simd.inc>
}  // namespace baseline_f32

#if defined(__x86_64__) || defined(__i386__)
#include <cohort/detail/begin_avx2.inc>
namespace avx2_f32 {
#include <cohort/onednn/detail/activation_simd.inc>
}  // namespace avx2_f32
#include <cohort/detail/begin_avx512.inc>
namespace avx512_f32 {
#include <cohort/onednn/detail/activation_simd.inc>
}  // namespace avx512_f32
namespace avx512_bf16 {
using avx512_f32::exponential, avx512_f32::quotient;
#include <cohort/onednn/detail/activation_simd.inc>
}  // namespace avx512_bf16
#include <cohort/detail/end_simd.inc>
#endif

activation_passes activation_passes_for(curve of, [[maybe_unused]] isa which, [[maybe_unused]] bool narrow) {
  auto const index = static_cast<std::size_t>(of);
#if defined(__x86_64__) || defined(__i386__)
  if (narrow) return avx512_bf16::passes_of_curves[index];
  if (which == isa::avx512) return avx512_f32::passes_of_curves[index];
  if (which == isa::avx2) return avx2_f32::passes_of_curves[index];
#endif
  return baseline_f32::passes_of_curves[index];
}

}  // namespace cohort::detail
