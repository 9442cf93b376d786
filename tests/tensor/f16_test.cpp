// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cohort/tensor/f16.hpp>
#include <limits>
#include <vector>

namespace f16_test {

using cohort::f16;

static_assert(f16{0x3c00}.value() == 1);
static_assert(f16{0xc000}.value() == -2);
static_assert(f16{0x3555}.value() == 0.333251953125F);
static_assert(f16{0x7bff}.value() == 65504, "the largest number");
static_assert(f16{0x0400}.value() == 0x1p-14F, "the smallest normal number");
static_assert(f16{0x03ff}.value() == 0x1.ff8p-15F, "the largest subnormal number");
static_assert(f16{0x0001}.value() == 0x1p-24F, "the smallest number");
static_assert(f16{0x7c00}.value() == std::numeric_limits<float>::infinity());
static_assert(f16{0xfc00}.value() == -std::numeric_limits<float>::infinity());

TEST(f16, equals_the_formula_of_ieee_754_for_every_pattern) {
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    int const exponent = static_cast<int>(pattern >> 10 & 31), fraction = static_cast<int>(pattern & 1023);
    float const value = f16{static_cast<std::uint16_t>(pattern)}.value();
    ASSERT_EQ(std::signbit(value), pattern >> 15 != 0) << pattern;
    if (exponent == 31) {
      ASSERT_EQ(std::isnan(value), fraction != 0) << pattern;
      ASSERT_EQ(std::isinf(value), fraction == 0) << pattern;
    } else {
      float const wanted = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                         : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
      ASSERT_EQ(std::abs(value), wanted) << pattern;
    }
  }
}

TEST(f16, numbers_are_widened_in_place) {
  for (std::size_t count : {0, 1, 2, 3, 7}) {
    std::vector<float> array(count);
    for (std::size_t i = 0; i < count; ++i) {
      auto const pattern = static_cast<std::uint16_t>(0x3c00 + 0x400 * i);
      std::memcpy(reinterpret_cast<std::byte*>(array.data()) + 2 * i, &pattern, 2);
    }
    cohort::detail::widen_f16(reinterpret_cast<std::byte*>(array.data()), count);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(array[i], std::ldexp(1.0F, static_cast<int>(i)));
  }
}

}  // namespace f16_test
