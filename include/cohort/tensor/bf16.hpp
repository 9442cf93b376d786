// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cstdint>

namespace cohort {

namespace detail {

#define COHORT_FORMULA(...) __VA_ARGS__
#include <cohort/tensor/detail/bf16_formulas.inc>
#undef COHORT_FORMULA

}  // namespace detail

/// A bfloat16 number: the upper half of an f32, with 8 significant bits.
struct bf16 {
  std::uint16_t pattern = 0;  ///< the bit pattern

  /// Returns the number as f32; exact.
  constexpr float value() const { return std::bit_cast<float>(std::uint32_t{pattern} << 16); }
  constexpr bool operator==(bf16 const&) const = default;

  /// Rounds x to the nearest bf16, ties to even. A NaN remains a NaN.
  static constexpr bf16 nearest(float x) {
    return {detail::rounded_to_bf16(std::bit_cast<std::uint32_t>(x))};
  }
};

}  // namespace cohort
