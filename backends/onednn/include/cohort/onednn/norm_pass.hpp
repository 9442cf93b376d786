// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/isa.hpp>
#include <cohort/execution/vector.hpp>
#include <cohort/tensor/bf16.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace cohort::detail {

/// Rows of `width` channels one behind the other, in segments that begin `stride` elements apart.
struct norm_rows {
  std::size_t segments, rows, stride, width;
};

/// What a norm does to the elements of each channel, and the rectifier behind it to all.
///
/// Shapes    width numbers each.
struct norm_factors {
  float const* mean;
  float const* factor;  ///< scale / deviation
  float const* shift;
  float const* of_mean;       ///< what backward subtracts from every gradient of a channel,
  float const* of_deviation;  ///< and for each unit of x − mean
  float slope;                ///< below zero; 1: no rectifier
};

/// A norm's passes over a tensor's rows; z = (x − mean)·factor + shift (+ other, if not null).
///
///     moments   x → Σ (x − around), Σ (x − around)²
///     forward   x, other → y            y = z > 0 ? z : slope·z
///     sums      x, y, dy → gated        gated = y > 0 ? dy : slope·dy, and Σ gated, Σ gated·(x − mean); without y, z says which
///     backward  x, gated → dx           dx = factor·(gated − of_mean − (x − mean)·of_deviation)
///
/// Shapes    x, y, …: the rows;  around, sums: width.
/// Order     y may lie where x or other lies, gated where dy lies, dx where gated lies.
/// Exact     sums are of f32, in four parts.
template <class E>
struct norm_passes {
  void (*moments)(norm_rows const& over, E const* x, float const* around, float* sum, float* squares);
  void (*forward)(norm_rows const& over, E const* x, E const* other, E* y, norm_factors const& by);
  void (*sums)(norm_rows const& over, E const* x, E const* y, E const* dy, E* gated, norm_factors const& by,
               float* sum, float* along);
  void (*backward)(norm_rows const& over, E const* x, E const* gated, E* dx, norm_factors const& by);
};

namespace baseline_f32 {
using element = number;
#include <cohort/onednn/norm_element.inc>
#include <cohort/onednn/norm_pass.inc>
}  // namespace baseline_f32

#if defined(__x86_64__) || defined(__i386__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
namespace avx2_f32 {
using element = number;
#include <cohort/onednn/norm_element.inc>
#include <cohort/onednn/norm_pass.inc>
}  // namespace avx2_f32
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx2,fma,avx512f,avx512vl,avx512bw,avx512dq"))), \
                             apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512vl,avx512bw,avx512dq")
#endif
namespace avx512_f32 {
using element = number;
#include <cohort/onednn/norm_element.inc>
#include <cohort/onednn/norm_pass.inc>
}  // namespace avx512_f32
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push( \
    __attribute__((target("avx2,fma,avx512f,avx512vl,avx512bw,avx512dq,avx512bf16"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512vl,avx512bw,avx512dq,avx512bf16")
#endif
namespace avx512_bf16 {
using avx512_f32::all_lanes, avx512_f32::bits, avx512_f32::lanes, avx512_f32::load_part, avx512_f32::real,
    avx512_f32::store_part;
using element = bf16;
using narrow_bits [[gnu::vector_size(lanes * sizeof(bf16)), gnu::aligned(alignof(bf16)), gnu::may_alias]] =
    short;

[[gnu::always_inline]] inline real widened(narrow_bits x) {
#if defined(__clang__)
  using unsigned_bits [[gnu::vector_size(sizeof(x))]] = std::uint16_t;
  return reinterpret_cast<real>(__builtin_convertvector(reinterpret_cast<unsigned_bits>(x), bits) << 16);
#else  // which converts both halves apart
  using ints [[gnu::vector_size(sizeof(bits))]] = int;
  return reinterpret_cast<real>(reinterpret_cast<bits>(__builtin_ia32_pmovzxwd512_mask(x, ints{}, all_lanes))
                                << 16);
#endif
}
[[gnu::always_inline]] inline real load_part(bf16 const* from, std::size_t count) {
  if (count == lanes) return widened(*reinterpret_cast<narrow_bits const*>(from));
  bf16 part[lanes]{};
  __builtin_memcpy(static_cast<void*>(part), from, count * sizeof(bf16));
  return widened(*reinterpret_cast<narrow_bits const*>(part));
}
/// To nearest, ties to even; a NaN stays one, denormal numbers become zero.
[[gnu::always_inline]] inline void store_part(bf16* to, real x, std::size_t count) {
#if defined(__clang__)
  auto const narrow = reinterpret_cast<narrow_bits>(__builtin_ia32_cvtneps2bf16_512(x));
#else
  auto const narrow = reinterpret_cast<narrow_bits>(__builtin_ia32_cvtneps2bf16_v16sf(x));
#endif
  if (count == lanes)
    *reinterpret_cast<narrow_bits*>(to) = narrow;
  else
    __builtin_memcpy(static_cast<void*>(to), &narrow, count * sizeof(bf16));
}
#include <cohort/onednn/norm_pass.inc>
}  // namespace avx512_bf16
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

/// The passes of this machine.
///
/// Before    E is float; or bf16, and the machine has avx512_bf16, whatever COHORT_ISA says.
template <class E>
norm_passes<E> const& norm_passes_for([[maybe_unused]] isa which) {
#if defined(__x86_64__) || defined(__i386__)
  if constexpr (std::is_same_v<E, bf16>) {
    return avx512_bf16::passes_of_norm;
  } else {
    if (which == isa::avx512) return avx512_f32::passes_of_norm;
    if (which == isa::avx2) return avx2_f32::passes_of_norm;
    return baseline_f32::passes_of_norm;
  }
#else
  return baseline_f32::passes_of_norm;
#endif
}

}  // namespace cohort::detail
