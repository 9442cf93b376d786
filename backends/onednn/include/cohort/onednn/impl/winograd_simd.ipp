// SPDX-License-Identifier: Apache-2.0
#include <cohort/execution/detail/simd_vector.hpp>
#include <cohort/onednn/detail/winograd_simd.hpp>

namespace cohort::detail {

#define COHORT_SIMD_BODY <cohort/onednn/detail/winograd_simd.inc>
#include <cohort/detail/simd_variants.inc>

void winograd_input([[maybe_unused]] isa which, float const* const* pixels, std::size_t channels, float* to,
                    std::size_t step) {
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) return avx512_f32::winograd_input(pixels, channels, to, step);
  if (which == isa::avx2) return avx2_f32::winograd_input(pixels, channels, to, step);
#endif
  baseline_f32::winograd_input(pixels, channels, to, step);
}

template <int Tile>
void winograd_output([[maybe_unused]] isa which, float const* from, std::size_t step, float const* bias,
                     float slope, std::size_t filters, float* const* pixels) {
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512)
    return avx512_f32::winograd_output<Tile>(from, step, bias, slope, filters, pixels);
  if (which == isa::avx2) return avx2_f32::winograd_output<Tile>(from, step, bias, slope, filters, pixels);
#endif
  baseline_f32::winograd_output<Tile>(from, step, bias, slope, filters, pixels);
}

template void winograd_output<2>(isa, float const*, std::size_t, float const*, float, std::size_t,
                                 float* const*);
template void winograd_output<3>(isa, float const*, std::size_t, float const*, float, std::size_t,
                                 float* const*);

}  // namespace cohort::detail
