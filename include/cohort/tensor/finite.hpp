// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cstdint>

namespace cohort {

/// Whether a number is neither infinite nor NaN. On bit patterns: it holds under the consumer's -ffast-math too.
constexpr bool is_finite(float x) { return (std::bit_cast<std::uint32_t>(x) >> 23 & 0xff) != 0xff; }
constexpr bool is_finite(double x) { return (std::bit_cast<std::uint64_t>(x) >> 52 & 0x7ff) != 0x7ff; }

}  // namespace cohort
