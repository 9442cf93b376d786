// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cohort {

/// An IEEE 754 binary16 number, with 11 significant bits. The library reads f16 data from files and converts
/// it to f32.
struct f16 {
  std::uint16_t pattern = 0;  ///< the bit pattern

  /// Returns the number as f32; exact. A NaN keeps its sign and its payload.
  constexpr float value() const {
    std::uint32_t const sign = std::uint32_t{pattern} >> 15 << 31, magnitude = pattern & 0x7fffU;
    if (magnitude < 0x400) {  // 0 or subnormal: a multiple of 2^-24
      float const number = static_cast<float>(magnitude) * 0x1p-24F;
      return std::bit_cast<float>(std::bit_cast<std::uint32_t>(number) | sign);
    }
    std::uint32_t const bias = magnitude < 0x7c00 ? 112U << 23 : 224U << 23;  // exponent 31: infinity or NaN
    return std::bit_cast<float>(((magnitude << 13) + bias) | sign);
  }
  constexpr bool operator==(f16 const&) const = default;
};

namespace detail {

/// Converts f16 numbers in the first half of an array of `count` f32 elements to f32, in place.
inline void widen_f16(std::byte* array, std::size_t count) {
  for (std::size_t i = count; i-- > 0;) {  // backward: element i begins after the f16 number i − 1
    f16 number;
    std::memcpy(&number, array + i * sizeof number, sizeof number);
    float const value = number.value();
    std::memcpy(array + i * sizeof value, &value, sizeof value);
  }
}

}  // namespace detail
}  // namespace cohort
