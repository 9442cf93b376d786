// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cohort/codec/detail/block_coding.hpp>
#include <cohort/random/stream.hpp>
#include <vector>

#include "gradients.hpp"

namespace block_coding_test {

using namespace cohort;
using detail::sent_element;

std::vector<sent_element> elements(std::size_t length, double density, std::uint64_t seed) {
  random_stream const stream(seed, "elements");
  std::vector<sent_element> list;
  for (std::uint64_t i = 0; i < length; ++i)
    if (stream.uniform01<double>(2 * i) < density)
      list.push_back(
          {static_cast<std::uint32_t>(i) | static_cast<std::uint32_t>(stream.bits(2 * i + 1) << 31)});
  return list;
}

struct coded {
  std::vector<std::byte> bytes;
  block_entry entry;
  std::uint64_t bits;
};

/// Coded after `shift` other bits.
coded code(std::vector<sent_element> const& list, std::size_t length, unsigned shift = 0) {
  detail::bit_writer writer;
  detail::bit_cursor cursor = writer.extend(shift);
  cursor.put(0, shift);
  writer.extended_to(cursor);
  block_entry const entry = detail::write_block(writer, list, length);
  std::vector<std::byte> bytes(static_cast<std::size_t>(writer.bits() / 8 + 16));
  detail::bit_cursor to{bytes.data(), 0, 0};
  writer.append_to(to);
  bytes.resize(static_cast<std::size_t>(writer.bits() + 7) / 8);
  return {bytes, entry, writer.bits()};
}

bool decoded(coded const& from, std::vector<sent_element>& list, std::size_t length, std::uint64_t& at) {
  list.resize(from.entry.count());
  at = from.entry.bit();
  auto const read = from.entry.bitmap() ? detail::read_bitmap : detail::read_gaps;
  return read(from.bytes, at, from.bits, list.data(), from.entry.count(), length);
}

void expect_round_trip(std::vector<sent_element> const& list, std::size_t length, unsigned shift = 0) {
  coded const from = code(list, length, shift);
  EXPECT_EQ(from.entry.count(), list.size());
  EXPECT_EQ(from.entry.bit(), shift);
  if (list.empty()) return;
  EXPECT_LE(from.bits - shift, detail::bitmap_bits(list.size(), length));
  std::vector<sent_element> back;
  std::uint64_t at = 0;
  ASSERT_TRUE(decoded(from, back, length, at)) << list.size() << " of " << length;
  EXPECT_EQ(at, from.bits);
  for (std::size_t i = 0; i < list.size(); ++i) ASSERT_EQ(back[i].word, list[i].word) << i;
}

TEST(block_coding, round_trips_elements_of_any_density_and_length) {
  for (std::size_t const length : {1UL, 2UL, 3UL, 55UL, 56UL, 57UL, 64UL, 1000UL, 65'535UL, block_elements})
    for (double const density : {0.0, 1e-4, 1e-3, 1e-2, 0.1, 0.2, 0.4, 0.5, 0.7, 1.0})
      for (unsigned const shift : {0U, 5U})
        expect_round_trip(elements(length, density, length), length, shift);
}

TEST(block_coding, round_trips_elements_around_a_gap_of_any_length) {
  constexpr std::size_t length = 2244;
  for (double const density : {0.03, 0.06, 0.12})
    for (std::uint32_t hole = 100; hole < 700; ++hole) {  // codes of 10 to more than 100 bits
      std::vector<sent_element> list = elements(length, density, hole);
      std::erase_if(list, [&](sent_element one) { return one.index() >= 500 && one.index() < 500 + hole; });
      expect_round_trip(list, length);
    }
}

TEST(block_coding, round_trips_elements_clustered_at_one_end) {
  for (std::uint32_t const count : {1U, 2U, 100U, 20'000U, 40'000U}) {
    std::vector<sent_element> first, last;
    for (std::uint32_t i = 0; i < count; ++i) {
      first.push_back({i});
      last.push_back({(65'536 - count + i) | sent_element::negative});
    }
    expect_round_trip(first, block_elements);
    expect_round_trip(last, block_elements, 3);
    first.push_back({65'535});
    expect_round_trip(first, block_elements, 1);
  }
}

TEST(block_coding, chooses_the_smaller_of_gaps_and_bitmap) {
  EXPECT_FALSE(code(elements(block_elements, 0.3, 1), block_elements).entry.bitmap());
  EXPECT_TRUE(code(elements(block_elements, 0.6, 1), block_elements).entry.bitmap());
  std::vector<sent_element> crowded;  // as dense as for a bitmap, but all adjacent
  for (std::uint32_t i = 0; i < 26'000; ++i) crowded.push_back({i});
  EXPECT_FALSE(code(crowded, block_elements).entry.bitmap());
}

TEST(block_coding, needs_at_most_3_percent_more_bits_than_the_entropy) {
  for (double density = 1e-4; density <= 0.2; density *= 1.3) {
    double bits = 0, sent = 0;
    std::size_t const blocks = 20;
    for (std::size_t b = 0; b < blocks; ++b) {
      std::vector<sent_element> const list = elements(block_elements, density, b);
      bits += static_cast<double>(code(list, block_elements).bits);
      sent += static_cast<double>(list.size());
    }
    double const n = static_cast<double>(blocks * block_elements), d = sent / n;
    double const entropy = n * (-d * std::log2(d) - (1 - d) * std::log2(1 - d) + d);
    EXPECT_LE(bits, 1.03 * entropy) << density;
  }
}

TEST(block_coding, chooses_the_best_rice_parameter_for_independent_elements) {
  for (double density = 1e-4; density <= 0.38; density *= 1.1) {
    auto const bits = [&](unsigned k) { return k + 1 + 1 / (1 - std::pow(1 - density, std::pow(2.0, k))); };
    unsigned const k = detail::rice_parameter(static_cast<std::uint64_t>(density * 6'553'600), 6'553'600);
    for (unsigned other = 1; other < 16; ++other) EXPECT_LE(bits(k), bits(other) + 0.01) << density;
  }
}

TEST(block_coding, detects_codes_that_exceed_the_block_or_end_early) {
  std::size_t const length = 1000;
  for (double const density : {0.01, 0.1, 0.9}) {
    std::vector<sent_element> const list = elements(length, density, 3);
    coded const good = code(list, length);
    std::vector<sent_element> back;
    std::uint64_t at = 0;
    for (std::uint64_t end = 0; end < good.bits; ++end) {
      coded cut = good;
      cut.bits = end;
      cut.bytes.resize(static_cast<std::size_t>(end + 7) / 8);
      EXPECT_FALSE(decoded(cut, back, length, at) && at == good.bits) << end;
    }
    coded zeros = good;
    std::fill(zeros.bytes.begin(), zeros.bytes.end(), std::byte{0});
    EXPECT_FALSE(decoded(zeros, back, length, at));
    EXPECT_FALSE(decoded(good, back, list.back().index(), at) && at == good.bits) << "one element too short";
  }
}

}  // namespace block_coding_test
