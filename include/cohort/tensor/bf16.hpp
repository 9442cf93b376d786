// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cstdint>

namespace cohort {

/// The upper half of an f32: 8 significant bits.
struct bf16 {
  std::uint16_t pattern = 0;

  constexpr float value() const { return std::bit_cast<float>(std::uint32_t{pattern} << 16); }
  constexpr bool operator==(bf16 const&) const = default;

  /// To nearest, ties to even. A NaN stays one.
  static constexpr bf16 nearest(float x) {
    auto const bits = std::bit_cast<std::uint32_t>(x);
    if ((bits & 0x7fff'ffff) > 0x7f80'0000) return {static_cast<std::uint16_t>(bits >> 16 | 0x40)};
    return {static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
  }
};

}  // namespace cohort
