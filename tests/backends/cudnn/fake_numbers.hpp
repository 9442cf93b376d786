// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cohort/tensor/bf16.hpp>
#include <cstdint>

/// Rounds to TF32, 11 significant bits: to nearest, ties away from zero. NaN remains NaN.
inline float to_tf32(float x) {
  if (x != x) return x;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x1000U) & ~0x1fffU);
}

/// A tensor of f32 or bf16.
struct fake_tensor {
  void* at = nullptr;
  bool is_narrow = false;

  float operator[](std::int64_t i) const {
    return is_narrow ? static_cast<cohort::bf16 const*>(at)[i].value() : static_cast<float const*>(at)[i];
  }
  void put(std::int64_t i, float x) const {
    if (is_narrow)
      static_cast<cohort::bf16*>(at)[i] = cohort::bf16::nearest(x);
    else
      static_cast<float*>(at)[i] = x;
  }
};
