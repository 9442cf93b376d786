// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cohort/execution/detail/simd_vector.hpp>
#include <cstddef>
#include <cstdint>

namespace cohort::detail {

/// As the processor's own instruction rounds, which oneDNN's reorders use: to nearest, ties to even; what is below the normal
/// numbers is a zero of its sign, a NaN stays one.
constexpr std::uint16_t rounded_by_processor(float x) {
  constexpr std::uint32_t exponent = 0x7f800000, sign = 0x80000000;
  auto const pattern = std::bit_cast<std::uint32_t>(x);
  return rounded_to_bf16((pattern & exponent) == 0 ? pattern & sign : pattern);
}

#if defined(__x86_64__) || defined(__i386__)
#include <cohort/execution/detail/begin_avx2.inc>
#include <cohort/execution/detail/begin_avx512.inc>
namespace avx512_f32 {

/// Whole vectors; returns how many elements that were.
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
#include <cohort/execution/detail/end_simd.inc>
#endif

void round_to_bf16(float const* from, std::uint16_t* to, std::size_t n);

}  // namespace cohort::detail

#ifndef COHORT_ONEDNN_COMPILED
#include <cohort/onednn/impl/rounding.ipp>
#endif
