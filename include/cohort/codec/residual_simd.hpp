// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/isa.hpp>
#include <cstdint>
#include <span>

namespace cohort {

namespace detail {

[[noreturn, gnu::cold]] void refuse_residual(std::uint64_t element);

}  // namespace detail

/// Gradients up to here can be sent: with a residual, which is at most 2¹⁶ thresholds, and those of all ranks they stay below
/// what messages bring.
inline constexpr float largest_gradient = 0x1p100F;

/// Whether a gradient can be encoded: no element is infinite, NaN or above largest_gradient. A rank whose is not sends
/// message_codec::not_finite, and its residual stays as it was.
///
/// Before    `which` is at most machine_isa().
bool within_range([[maybe_unused]] isa which, std::span<float const> x);

/// Clips a residual to ±c, and returns Σ |what was cut off|, whose last bits are the instruction set's.
double clip_residual([[maybe_unused]] isa which, std::span<float> r, float c);

/// r *= factor
void scale_residual([[maybe_unused]] isa which, std::span<float> r, float factor);

/// Σ r², in double; the order of summation is the instruction set's.
double residual_square_sum([[maybe_unused]] isa which, std::span<float const> r);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/codec/impl/residual_simd.ipp>
#endif
