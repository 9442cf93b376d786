// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/isa.hpp>
#include <cstdint>
#include <span>

namespace cohort {

namespace detail {

/// Throws the numeric_error for a residual that is not finite.
[[noreturn, gnu::cold]] void refuse_residual(std::uint64_t element);

}  // namespace detail

/// Largest magnitude of a gradient element that can be encoded. The sum of all ranks' gradients and of a
/// residual (at most 2¹⁶ thresholds) then stays below largest_value.
inline constexpr float largest_gradient = 0x1p100F;

/// Returns whether a gradient can be encoded: no element is infinite, NaN or of a magnitude above
/// largest_gradient. A rank whose gradient is out of range sends message_codec::not_finite and keeps its
/// residual unchanged.
///
/// Before    `which` is at most machine_isa().
bool within_range([[maybe_unused]] isa which, std::span<float const> x);

/// Clips a residual to ±c. Returns the sum of the magnitudes that were cut off: f32 sums over at most 1024
/// elements, added in double. Their rounding depends on the instruction set.
double clip_residual([[maybe_unused]] isa which, std::span<float> r, float c);

/// r *= factor
void scale_residual([[maybe_unused]] isa which, std::span<float> r, float factor);

/// Returns Σ r², in double; the order of summation depends on the instruction set.
double residual_square_sum([[maybe_unused]] isa which, std::span<float const> r);

}  // namespace cohort
