// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/tensor/bf16.hpp>

namespace bf16_test {

using cohort::bf16;

static_assert(bf16::nearest(1).value() == 1);
static_assert(bf16::nearest(1.00390625F).value() == 1, "half way, to even");
static_assert(bf16::nearest(1.01171875F).value() == 1.015625F, "half way, to even");
static_assert(bf16::nearest(1.004F).value() == 1.0078125F);
static_assert(bf16::nearest(-1e-3F).value() == -0.00099945068359375F);

TEST(bf16, represents_numbers_of_eight_significant_bits_exactly) {
  for (std::uint32_t pattern = 0; pattern < 0x7f80; ++pattern) {
    bf16 const x{static_cast<std::uint16_t>(pattern)};
    ASSERT_EQ(bf16::nearest(x.value()), x);
  }
}

}  // namespace bf16_test
