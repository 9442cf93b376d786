// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cstdint>
#include <limits>

namespace cohort {

/// Returns whether x is neither infinite nor NaN. Tests the bit pattern, so it also works with -ffast-math.
constexpr bool is_finite(float x) { return (std::bit_cast<std::uint32_t>(x) >> 23 & 0xff) != 0xff; }
constexpr bool is_finite(double x) { return (std::bit_cast<std::uint64_t>(x) >> 52 & 0x7ff) != 0x7ff; }

/// Returns whether x is infinite. Also tests the bit pattern.
constexpr bool is_infinite(double x) { return std::bit_cast<std::uint64_t>(x) << 1 == 0xffe0'0000'0000'0000; }

/// Returns whether a finite number is within the range of f32.
constexpr bool fits_f32(double x) {
  return x <= std::numeric_limits<float>::max() && x >= std::numeric_limits<float>::lowest();
}

}  // namespace cohort
