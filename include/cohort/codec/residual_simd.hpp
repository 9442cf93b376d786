// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/detail/simd_vector.hpp>
#include <cohort/execution/isa.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cohort {

namespace detail {

[[noreturn, gnu::cold]] inline void refuse_residual(std::uint64_t element) {
  throw numeric_error({.what = "a residual is not finite",
                       .where = {"element ", element},
                       .expected = "gradients that within_range accepts"});
}

namespace baseline_f32 {
#include <cohort/codec/detail/residual_simd.inc>
}

#if defined(__x86_64__) || defined(__i386__)
#include <cohort/execution/detail/begin_avx2.inc>
namespace avx2_f32 {
#include <cohort/codec/detail/residual_simd.inc>
}
#include <cohort/execution/detail/begin_avx512.inc>
namespace avx512_f32 {
#include <cohort/codec/detail/residual_simd.inc>
}
#include <cohort/execution/detail/end_simd.inc>
#endif

}  // namespace detail

/// Gradients up to here can be sent: with a residual, which is at most 2¹⁶ thresholds, and those of all ranks they stay below
/// what messages bring.
inline constexpr float largest_gradient = 0x1p100F;

/// Whether a gradient can be encoded: no element is infinite, NaN or above largest_gradient. A rank whose is not sends
/// message_codec::not_finite, and its residual stays as it was.
///
/// Before    `which` is at most machine_isa().
inline bool within_range([[maybe_unused]] isa which, std::span<float const> x) {
  constexpr auto limit = std::bit_cast<std::uint32_t>(largest_gradient);
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) return detail::avx512_f32::all_within(x.data(), x.size(), limit);
  if (which == isa::avx2) return detail::avx2_f32::all_within(x.data(), x.size(), limit);
#endif
  return detail::baseline_f32::all_within(x.data(), x.size(), limit);
}

/// Clips a residual to ±c, and returns Σ |what was cut off|, whose last bits are the instruction set's.
inline double clip_residual([[maybe_unused]] isa which, std::span<float> r, float c) {
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) return detail::avx512_f32::clip(r.data(), r.size(), c);
  if (which == isa::avx2) return detail::avx2_f32::clip(r.data(), r.size(), c);
#endif
  return detail::baseline_f32::clip(r.data(), r.size(), c);
}

/// r *= factor
inline void scale_residual([[maybe_unused]] isa which, std::span<float> r, float factor) {
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) return detail::avx512_f32::scale(r.data(), r.size(), factor);
  if (which == isa::avx2) return detail::avx2_f32::scale(r.data(), r.size(), factor);
#endif
  detail::baseline_f32::scale(r.data(), r.size(), factor);
}

/// Σ r², in double; the order of summation is the instruction set's.
inline double residual_square_sum([[maybe_unused]] isa which, std::span<float const> r) {
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) return detail::avx512_f32::sum_of_squares(r.data(), r.size());
  if (which == isa::avx2) return detail::avx2_f32::sum_of_squares(r.data(), r.size());
#endif
  return detail::baseline_f32::sum_of_squares(r.data(), r.size());
}

}  // namespace cohort
