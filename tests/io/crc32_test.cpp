// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/io/crc32.hpp>
#include <string_view>

namespace crc32_test {

std::uint32_t crc_of(std::string_view text, std::uint32_t start = 0) {
  return cohort::io::crc32(std::as_bytes(std::span(text)), start);
}

TEST(crc32, has_the_published_check_value) {
  EXPECT_EQ(crc_of("123456789"), 0xcbf43926U);
  EXPECT_EQ(crc_of(""), 0U);
}

TEST(crc32, continues_an_earlier_crc) { EXPECT_EQ(crc_of("56789", crc_of("1234")), crc_of("123456789")); }

}  // namespace crc32_test
