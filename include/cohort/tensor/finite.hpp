// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cstdint>

namespace cohort {

/// Returns whether x is neither infinite nor NaN. Tests the bit pattern, so it also works with -ffast-math.
constexpr bool is_finite(float x) { return (std::bit_cast<std::uint32_t>(x) >> 23 & 0xff) != 0xff; }
constexpr bool is_finite(double x) { return (std::bit_cast<std::uint64_t>(x) >> 52 & 0x7ff) != 0x7ff; }

}  // namespace cohort
