// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/detail/text.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace text_test {

using cohort::detail::text_of;

TEST(text_of, concatenates_words_and_numbers) {
  EXPECT_EQ(text_of({"layer ", 3, ": ", std::string("conv2d"), '_', std::string_view("1")}),
            "layer 3: conv2d_1");
  EXPECT_EQ(text_of({}), "");
}

TEST(text_of, writes_numbers_of_all_sizes) {
  EXPECT_EQ(text_of({std::numeric_limits<std::int64_t>::min()}), "-9223372036854775808");
  EXPECT_EQ(text_of({std::numeric_limits<std::uint64_t>::max()}), "18446744073709551615");
  EXPECT_EQ(text_of({0.5, ' ', -1.25F}), "0.5 -1.25");
  EXPECT_EQ(text_of({32.1F, ' ', 0.1F, ' ', 16777217.0F, ' ', 1.0F / 3}), "32.1 0.1 16777216 0.33333334");
  EXPECT_EQ(text_of({1e-8, ' ', 0.1 + 0.2, ' ', 67780.0}), "1e-08 0.30000000000000004 67780");
}

TEST(text_of, writes_a_char_as_a_character_and_a_byte_as_a_number) {
  EXPECT_EQ(text_of({'x', static_cast<unsigned char>(7), ' ', static_cast<signed char>(-7)}), "x7 -7");
}

}  // namespace text_test
