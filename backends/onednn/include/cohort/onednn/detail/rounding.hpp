// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cohort/detail/build_check.hpp>
#include <cohort/tensor/bf16.hpp>
#include <cstddef>
#include <cstdint>

namespace cohort::detail {

/// Rounds like the processor's bf16 instruction, which oneDNN's reorders use: to nearest, ties to even. A
/// denormal becomes a zero of the same sign; a NaN stays a NaN.
constexpr std::uint16_t rounded_by_processor(float x) {
  constexpr std::uint32_t exponent = 0x7f800000, sign = 0x80000000;
  auto const pattern = std::bit_cast<std::uint32_t>(x);
  return rounded_to_bf16((pattern & exponent) == 0 ? pattern & sign : pattern);
}

/// Rounds n elements as rounded_by_processor does.
void round_to_bf16(float const* from, std::uint16_t* to, std::size_t n);

}  // namespace cohort::detail
