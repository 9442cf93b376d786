// SPDX-License-Identifier: Apache-2.0
#include <cohort/execution/detail/bf16_simd_variants.hpp>
#include <cohort/execution/isa.hpp>
#include <cohort/onednn/detail/rounding.hpp>
#include <cohort/tensor/bf16.hpp>

namespace cohort::detail {

#if defined(__x86_64__) || defined(__i386__)
#include <cohort/detail/begin_avx2.inc>
#include <cohort/detail/begin_avx512.inc>
namespace avx512_f32 {

/// Rounds whole vectors. Returns the number of elements rounded.
[[gnu::flatten]] inline std::size_t round_vectors(float const* from, std::uint16_t* to, std::size_t n) {
  constexpr std::uint32_t exponent = 0x7f800000, sign = 0x80000000;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    bits const x = load_bits(from + i);
    bits const small = reinterpret_cast<bits>((x & exponent) == 0);
    bits const rounded = nearest_bf16(x & (~small | sign));
    *reinterpret_cast<packed_halves*>(to + i) = __builtin_convertvector(rounded, halves);
  }
  return i;
}

}  // namespace avx512_f32
#include <cohort/detail/end_simd.inc>
#endif

void round_to_bf16(float const* from, std::uint16_t* to, std::size_t n) {
  std::size_t i = 0;
#if defined(__x86_64__) || defined(__i386__)
  if (best_isa() == isa::avx512) i = avx512_f32::round_vectors(from, to, n);
#endif
  for (; i < n; ++i) to[i] = rounded_by_processor(from[i]);
}

}  // namespace cohort::detail
