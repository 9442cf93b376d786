// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/detail/block_coding.hpp>
#include <cohort/codec/message.hpp>
#include <cohort/execution/detail/simd_vector.hpp>
#include <cohort/execution/isa.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohort::detail {

namespace baseline_f32 {
inline constexpr bool compresses = false;
using ints [[gnu::vector_size(16)]] = std::int32_t;
unsigned mask_above(ints x, ints bound);
inline sent_element* append(sent_element* to, unsigned, ints) { return to; }
#include <cohort/codec/detail/threshold_simd.inc>
}  // namespace baseline_f32

#if defined(__x86_64__) || defined(__i386__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
namespace avx2_f32 {
inline constexpr bool compresses = false;
using ints [[gnu::vector_size(32)]] = std::int32_t;
inline unsigned mask_above(ints x, ints bound) {
  return static_cast<unsigned>(__builtin_ia32_movmskps256(reinterpret_cast<real>(x > bound)));
}
inline sent_element* append(sent_element* to, unsigned, ints) { return to; }
#include <cohort/codec/detail/threshold_simd.inc>
}  // namespace avx2_f32
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx2,fma,avx512f,avx512vl,avx512bw,avx512dq,popcnt"))), \
                             apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512vl,avx512bw,avx512dq,popcnt")
#endif
namespace avx512_f32 {
inline constexpr bool compresses = true;
using ints [[gnu::vector_size(64)]] = std::int32_t;
inline std::uint16_t mask_above(ints x, ints bound) {
  constexpr int above = 6;
  return static_cast<std::uint16_t>(__builtin_ia32_cmpd512_mask(x, bound, above, all_lanes));
}
/// Compressed in a register, then stored whole: on Zen 4 a compressing store takes some 100 cycles.
inline sent_element* append(sent_element* to, std::uint16_t mask, ints elements) {
  using packed [[gnu::aligned(4), gnu::may_alias]] = ints;
  *reinterpret_cast<packed*>(to) = __builtin_ia32_compresssi512_mask(elements, elements, mask);
  return to + __builtin_popcount(mask);
}
#include <cohort/codec/detail/threshold_simd.inc>
}  // namespace avx512_f32
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

/// What take_threshold writes to behind the list: a vector is stored whole.
inline constexpr std::size_t list_slack = 16;

/// y = r + x of one element with threshold t: what is sent is added to the list or to the multiples, and r keeps the rest.
///
/// Errors    numeric_error if y is not finite; r is unchanged.
void take_one(float& r, float y, float t, std::uint64_t index, sent_element*& list,
              std::vector<sent_multiple>& multiples);

/// r += x, and ±t out of every element of at least t, for elements of one block, the first of which has this index.
///
/// Before    t is a bf16 between smallest_threshold and largest_threshold; the list has room for n + list_slack.
/// Moves     8n bytes in, 4n out.
/// Exact     the same r and list on every instruction set.
void take_threshold([[maybe_unused]] isa which, float* r, float const* x, std::size_t n, float t,
                    std::uint64_t first, sent_element*& list, std::vector<sent_multiple>& multiples);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/codec/impl/threshold_simd.ipp>
#endif
