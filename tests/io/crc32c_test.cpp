// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/io/crc32c.hpp>
#include <cohort/random/stream.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "../codec/gradients.hpp"

namespace crc32c_test {

using cohort::io::crc32c;

std::span<std::byte const> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

// The check value of the catalogue of CRCs, and two vectors of RFC 3720, B.4.
TEST(crc32c, computes_the_published_values) {
  std::vector<std::byte> const zeros(32);
  std::vector<std::byte> const ones(32, std::byte{0xff});
  for (cohort::isa const which : usable_isas()) {
    EXPECT_EQ(crc32c(which, bytes_of("123456789")), 0xe3069283U);
    EXPECT_EQ(crc32c(which, zeros), 0x8a9136aaU);
    EXPECT_EQ(crc32c(which, ones), 0x62a8ab43U);
    EXPECT_EQ(crc32c(which, {}), 0U);
  }
}

TEST(crc32c, is_equal_on_every_instruction_set_and_for_any_split) {
  cohort::random_stream const stream(7, "bytes");
  std::vector<std::byte> bytes;
  for (std::uint64_t i = 0; i < 100; ++i) bytes.push_back(static_cast<std::byte>(stream.bits(i)));
  std::span<std::byte const> const all(bytes);
  std::uint32_t const whole = crc32c(cohort::isa::baseline, all);
  for (cohort::isa const which : usable_isas())
    for (std::size_t cut = 0; cut <= all.size(); ++cut)
      EXPECT_EQ(crc32c(which, all.subspan(cut), crc32c(which, all.first(cut))), whole);
}

}  // namespace crc32c_test
