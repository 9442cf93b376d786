// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/detail/byte_words.hpp>
#include <string>
#include <vector>

namespace byte_words_test {

using namespace cohort::detail;

TEST(byte_words, loads_only_the_requested_bytes) {
  std::string const text =
      "\x81"
      "bcdefg\xff";
  for (std::size_t size = 0; size <= 8; ++size) {
    std::vector<char> const exact(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size));
    std::uint64_t expected = 0;
    for (std::size_t i = size; i-- > 0;) expected = expected << 8 | static_cast<unsigned char>(text[i]);
    EXPECT_EQ(load_word(exact.data(), size), expected) << size;
  }
  EXPECT_EQ(load_word(text.data()), load_word(text.data(), 8));
}

TEST(byte_words, finds_the_first_byte_that_is_zero_or_below_a_bound) {
  for (unsigned b = 0; b < 256; ++b)
    for (int at = 0; at < 8; ++at)
      for (std::uint64_t const around : {0x0e, 0x7f, 0x80, 0xff}) {
        std::uint64_t const word =
            (around * each_byte & ~(std::uint64_t{0xff} << (8 * at))) | std::uint64_t{b} << (8 * at);
        std::uint64_t const zeros = mark_zeros(word), low = mark_below(word, 0x0e);
        ASSERT_EQ(zeros != 0, b == 0) << b;
        ASSERT_EQ(low != 0, b < 0x0e) << b;
        if (zeros != 0) {
          ASSERT_EQ(first_marked(zeros), at);
        }
        if (low != 0) {
          ASSERT_EQ(first_marked(low), at);
        }
        std::uint64_t const twice = mark_zeros(word & ~(std::uint64_t{0xff} << 56));
        ASSERT_EQ(first_marked(twice), b == 0 ? at : 7);
      }
}

}  // namespace byte_words_test
