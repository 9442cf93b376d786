// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/codec/detail/bit_stream.hpp>
#include <cohort/random/stream.hpp>
#include <cstdint>
#include <vector>

namespace bit_stream_test {

using namespace cohort::detail;

struct field {
  std::uint64_t word;
  unsigned bits;
};

std::vector<field> fields(std::size_t count, std::uint64_t seed) {
  cohort::random_stream const stream(seed, "fields");
  std::vector<field> list;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto const bits = static_cast<unsigned>(stream.below(2 * i, bit_cursor::most + 1));
    list.push_back({stream.bits(2 * i + 1) & ((std::uint64_t{1} << bits) - 1), bits});
  }
  return list;
}

void put(bit_writer& writer, std::vector<field> const& list) {
  bit_cursor cursor = writer.extend(list.size() * bit_cursor::most);
  for (field const& one : list) cursor.put(one.word, one.bits);
  writer.extended_to(cursor);
}

void expect(std::vector<std::byte> const& bytes, std::uint64_t at, std::vector<field> const& list) {
  for (field const& one : list) {
    ASSERT_EQ(peek_bits(bytes, at) & ((std::uint64_t{1} << one.bits) - 1), one.word) << "bit " << at;
    at += one.bits;
  }
}

TEST(bit_stream, reads_back_all_written_fields) {
  bit_writer writer;
  for (std::uint64_t round = 0; round < 3; ++round) {
    writer.clear();
    std::vector<field> all;
    for (std::uint64_t piece = 0; piece < 20; ++piece) {
      std::vector<field> const some = fields(piece, 100 * round + piece);
      put(writer, some);
      all.insert(all.end(), some.begin(), some.end());
    }
    std::vector<std::byte> bytes(static_cast<std::size_t>(writer.bits() + 7) / 8 + 16);
    bit_cursor to{bytes.data(), 0, 0};
    writer.append_to(to);
    EXPECT_EQ(8 * static_cast<std::uint64_t>(to.at - bytes.data()) + to.fill, writer.bits());
    bytes.resize(static_cast<std::size_t>(writer.bits() + 7) / 8);
    expect(bytes, 0, all);
  }
}

TEST(bit_stream, appends_at_any_bit_offset) {
  for (unsigned shift = 0; shift < 70; ++shift)
    for (std::size_t const count : {0, 1, 2, 3, 40}) {
      std::vector<field> const list = fields(count, count);
      bit_writer writer;
      put(writer, list);
      std::vector<std::byte> bytes(4096);
      bit_cursor to{bytes.data(), 0, 0};
      for (unsigned i = 0; i < shift; ++i) to.put(1, 1);
      writer.append_to(to);
      to.put(0x2a, 7);
      std::vector<field> all(shift, field{1, 1});
      all.insert(all.end(), list.begin(), list.end());
      all.push_back({0x2a, 7});
      expect(bytes, 0, all);
    }
}

/// append_to also stores the last, incomplete word. The memory contained a previous message.
TEST(bit_stream, appends_the_last_incomplete_word) {
  for (unsigned shift = 0; shift < 9; ++shift)
    for (std::size_t count = 0; count < 200; ++count) {
      std::vector<field> const ones(count, field{1, 1});
      bit_writer writer;
      put(writer, ones);
      std::vector<std::byte> bytes(64, std::byte{0xcc});  // of a previous message
      bit_cursor to{bytes.data(), 0, 0};
      for (unsigned i = 0; i < shift; ++i) to.put(1, 1);
      writer.append_to(to);
      expect(bytes, 0, std::vector<field>(shift + count, field{1, 1}));
    }
}

TEST(bit_stream, reads_zeros_after_the_end) {
  std::vector<std::byte> const bytes(3, std::byte{0xff});
  EXPECT_EQ(peek_bits(bytes, 4), 0xfffffU);
  EXPECT_EQ(peek_bits(bytes, 23), 1U);
  EXPECT_EQ(peek_bits(bytes, 24), 0U);
  EXPECT_EQ(peek_bits(bytes, 1'000'000), 0U);
}

}  // namespace bit_stream_test
