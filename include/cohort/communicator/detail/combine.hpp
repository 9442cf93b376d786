// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cohort/communicator/communicator.hpp>
#include <cohort/execution/isa.hpp>
#include <cohort/tensor/bf16.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace cohort::detail {

/// Returns whether x is NaN. Tests the bit pattern, so the function also works if the consumer compiles with
/// -ffast-math.
inline bool is_nan(float x) { return (std::bit_cast<std::uint32_t>(x) & 0x7fff'ffffU) > 0x7f80'0000U; }
bool is_nan(double x);

template <class T>
T sum_of(T a, T b) {
  if constexpr (std::is_same_v<T, bf16>) {
    return bf16::nearest(a.value() + b.value());
  } else if constexpr (std::is_integral_v<T>) {
    using whole = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<whole>(static_cast<whole>(a) + static_cast<whole>(b)));
  } else {
    return a + b;
  }
}

/// dst[i] = src[i] ⊕ dst[i] for each element.
///
/// Before    src has as many elements as dst, of the same type, and does not overlap dst.
/// Exact     the same bits on every instruction set. bf16 sums are computed in f32 and rounded to nearest
///           even. Integers wrap. The maximum of a NaN and any value is NaN.
void combine(isa which, elements dst, std::byte const* src, reduction how);

}  // namespace cohort::detail
