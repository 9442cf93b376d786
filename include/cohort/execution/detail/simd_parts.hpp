// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cohort/execution/detail/simd_vector.hpp>
#include <cohort/tensor/bf16.hpp>
#include <cstddef>
#include <cstdint>

/// Loads and stores of some columns (lanes) of a vector. The namespace of each instruction set contains
/// `element` (the type in memory), `columns`, first_columns, load_part and store_part. Columns that are not
/// loaded are zero. avx512_bf16 stores elements as bf16 and loads them into vectors of f32.
namespace cohort::detail {

namespace baseline_f32 {
#include <cohort/execution/detail/simd_parts.inc>
}

#if defined(__x86_64__) || defined(__i386__)
#include <cohort/detail/begin_avx2.inc>
namespace avx2_f32 {
#include <cohort/execution/detail/simd_parts.inc>
}
#include <cohort/detail/begin_avx512.inc>
namespace avx512_f32 {
using element = number;
using columns = std::uint16_t;  // a mask, one bit per column

inline columns first_columns(std::size_t count) { return static_cast<columns>((1U << count) - 1); }

[[gnu::always_inline]] inline real load_part(number const* from, columns some) {
  return __builtin_ia32_loadups512_mask(from, real{}, some);
}
[[gnu::always_inline]] inline void store_part(number* to, real x, columns some) {
  __builtin_ia32_storeups512_mask(to, x, some);
}
}  // namespace avx512_f32
namespace avx512_bf16 {
using avx512_f32::all_lanes, avx512_f32::bits, avx512_f32::columns, avx512_f32::first_columns,
    avx512_f32::lanes, avx512_f32::load_part, avx512_f32::real, avx512_f32::store_part;
using element = bf16;
using narrow_bits [[gnu::vector_size(lanes * sizeof(bf16))]] = short;
using packed_narrow_bits [[gnu::aligned(alignof(bf16)), gnu::may_alias]] = narrow_bits;

// Uses a builtin for g++, which otherwise converts each half of the vector separately.
[[gnu::always_inline]] inline real widened(narrow_bits x) {
#if defined(__clang__)
  using unsigned_bits [[gnu::vector_size(sizeof(x))]] = std::uint16_t;
  return reinterpret_cast<real>(__builtin_convertvector(reinterpret_cast<unsigned_bits>(x), bits) << 16);
#else
  using ints [[gnu::vector_size(sizeof(bits))]] = int;
  return reinterpret_cast<real>(reinterpret_cast<bits>(__builtin_ia32_pmovzxwd512_mask(x, ints{}, all_lanes))
                                << 16);
#endif
}
// Converts to bf16, rounded as by bf16::nearest.
[[gnu::always_inline]] inline narrow_bits narrowed(real x) {
  bits const pattern = reinterpret_cast<bits>(x), upper = pattern >> 16;
  bits const nearest = (pattern + 0x7fffU + (upper & 1U)) >> 16;
  bits const rounded = (pattern & 0x7fffffffU) > 0x7f800000U ? upper | 0x40U : nearest;
#if defined(__clang__)
  return __builtin_convertvector(rounded, narrow_bits);
#else
  using ints [[gnu::vector_size(sizeof(bits))]] = int;
  return __builtin_ia32_pmovdw512_mask(reinterpret_cast<ints>(rounded), narrow_bits{}, all_lanes);
#endif
}
[[gnu::always_inline]] inline real load_part(bf16 const* from, columns some) {
  if (some == first_columns(lanes)) return widened(*reinterpret_cast<packed_narrow_bits const*>(from));
  narrow_bits part{};
  __builtin_memcpy(&part, from, sizeof(bf16) * static_cast<std::size_t>(std::popcount(some)));
  return widened(part);
}
[[gnu::always_inline]] inline void store_part(bf16* to, real x, columns some) {
  narrow_bits const part = narrowed(x);
  if (some == first_columns(lanes))
    *reinterpret_cast<packed_narrow_bits*>(to) = part;
  else
    __builtin_memcpy(static_cast<void*>(to), &part,
                     sizeof(bf16) * static_cast<std::size_t>(std::popcount(some)));
}
}  // namespace avx512_bf16
#include <cohort/detail/end_simd.inc>
#endif

}  // namespace cohort::detail
