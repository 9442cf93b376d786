// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cstdint>

/// The next number of TF32, 11 significant bits; of two that are as near the one larger in magnitude. NaN stays NaN.
inline float to_tf32(float x) {
  if (x != x) return x;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x1000U) & ~0x1fffU);
}
