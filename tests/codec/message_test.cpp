// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/codec/message.hpp>
#include <cohort/codec/threshold_compressor.hpp>
#include <cohort/codec/top_k_compressor.hpp>
#include <limits>
#include <string>
#include <vector>

#include "../data/refused.hpp"
#include "gradients.hpp"

namespace message_test {

using namespace cohort;

tensor_table const table{{"a", 70'000}, {"b", 10}, {"c", 5000}};
constexpr expected_messages expected{.run = 42, .first_step = 10, .last_step = 12, .ranks = 8};
constexpr message_stamp stamp{.run = 42, .step = 11, .rank = 3, .examples = 64, .weight = 64};

message_bytes sparse(double t = 0.5, bool per_tensor = true) {
  threshold_compressor codec(table, {.threshold = threshold::fixed{t}, .per_tensor = per_tensor});
  std::vector<float> r(table.elements()), x = gradient(table.elements(), 1);
  x[65'536] = 1e6F;
  return kept(codec.encode(stamp, r, x));
}

std::string refusal(message_bytes const& message, expected_messages const& what = expected) {
  return refused<data_error>([&] { message_view::parse(isa::baseline, message, table, what); });
}

template <class Change>
std::string refusal_of_header(Change change) {
  message_bytes const message = sparse();
  message_header header = header_in(message);
  change(header);
  return refusal(resealed(message, header));
}

TEST(message, reads_back_all_header_fields) {
  for (isa const which : usable_isas()) {
    message_bytes const message = sparse();
    message_view const view = message_view::parse(which, message, table, expected);
    EXPECT_EQ(view.header.kind, message_kind::sparse);
    EXPECT_EQ(view.header.coding, message_coding::ternary);
    EXPECT_EQ(view.header.step, 11U);
    EXPECT_EQ(view.header.rank, 3U);
    EXPECT_EQ(view.header.examples, 64U);
    EXPECT_EQ(view.header.elements, table.elements());
    EXPECT_EQ(view.header.blocks, 2U);
    EXPECT_EQ(view.length(1), table.elements() - block_elements);
    EXPECT_EQ(view.header.thresholds, 3U);
    EXPECT_EQ(view.threshold(1).value(), 0.5F);
    EXPECT_EQ(view.header.multiples, 1U);
    EXPECT_EQ(view.multiple(0).index, 65'536U);
    EXPECT_EQ(message.size(), 96 + 3 * 2 + 2 * 8 + view.header.payload_bytes);
  }
}

TEST(message, is_read_at_any_alignment) {
  message_bytes const message = sparse();
  for (std::size_t shift = 1; shift < 8; ++shift) {
    message_bytes moved(shift);
    moved.insert(moved.end(), message.begin(), message.end());
    EXPECT_NO_THROW(message_view::parse(isa::baseline, std::span(moved).subspan(shift), table, expected));
  }
}

TEST(message, packs_block_entries_of_a_46_bit_offset_and_a_17_bit_count) {
  std::uint64_t const bit = (std::uint64_t{1} << 46) - 1;
  for (bool const bitmap : {false, true})
    for (std::uint32_t const count : {0U, 1U, 65'536U}) {
      block_entry const entry = block_entry::of(bit, count, bitmap);
      EXPECT_EQ(entry.bit(), bit);
      EXPECT_EQ(entry.count(), count);
      EXPECT_EQ(entry.bitmap(), bitmap);
    }
}

TEST(message, that_is_truncated_or_too_long_is_refused) {
  message_bytes const message = sparse(4);
  for (std::size_t size = 0; size < message.size(); ++size)
    expect_parts(refusal({message.begin(), message.begin() + static_cast<std::ptrdiff_t>(size)}),
                 {"cannot read a message"});
  message_bytes longer = message;
  longer.push_back(std::byte{0});
  expect_parts(refusal(longer), {"payload bytes after the tables"});
  expect_parts(refusal({}), {"header", "expected 96 bytes, got 0"});
}

TEST(message, with_any_wrong_bit_is_refused) {
  message_bytes message = sparse(4);
  for (std::size_t i = 0; i < message.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      message[i] ^= std::byte{1} << bit;
      EXPECT_NE(refusal(message), "") << "byte " << i;
      message[i] ^= std::byte{1} << bit;
    }
  EXPECT_NO_THROW(message_view::parse(isa::baseline, message, table, expected));
}

TEST(message, of_another_run_table_step_or_rank_is_refused) {
  auto const with = [](expected_messages what) { return refusal(sparse(), what); };
  expect_parts(with({.run = 43, .first_step = 10, .last_step = 12, .ranks = 8}),
               {"run", "expected 43, got 42"});
  expect_parts(with({.run = 42, .first_step = 12, .last_step = 14, .ranks = 8}),
               {"step", "expected 12 to 14, got 11"});
  expect_parts(with({.run = 42, .first_step = 8, .last_step = 10, .ranks = 8}), {"step", "got 11"});
  expect_parts(with({.run = 42, .first_step = 10, .last_step = 12, .ranks = 3}),
               {"rank", "expected 0 to 2, got 3"});
  tensor_table const other{{"a", 70'000}, {"b", 11}, {"c", 4999}};
  message_bytes const message = sparse();
  expect_parts(refused<data_error>([&] { message_view::parse(isa::baseline, message, other, expected); }),
               {"hash of the tensor table"});
}

TEST(message, of_another_format_is_refused) {
  expect_parts(refusal_of_header([](message_header& h) { h.magic = 1; }), {"magic number", "got 1"});
  expect_parts(refusal_of_header([](message_header& h) { h.version = 2; }), {"version", "expected 1, got 2"});
}

TEST(message, with_inconsistent_numbers_is_refused) {
  constexpr std::uint64_t huge = ~std::uint64_t{0};
  expect_parts(refusal_of_header([](message_header& h) { h.kind = static_cast<message_kind>(3); }), {"kind"});
  expect_parts(refusal_of_header([](message_header& h) { h.coding = static_cast<message_coding>(2); }),
               {"coding"});
  expect_parts(refusal_of_header([](message_header& h) { h.elements -= 1; }), {"elements"});
  expect_parts(refusal_of_header([](message_header& h) { h.ranks = 0; }), {"merged ranks"});
  expect_parts(refusal_of_header([](message_header& h) { h.ranks = 6; }), {"merged ranks", "1 to 5, got 6"});
  expect_parts(refusal_of_header([](message_header& h) { h.weight = -1; }), {"weight"});
  expect_parts(
      refusal_of_header([](message_header& h) { h.weight = std::numeric_limits<double>::quiet_NaN(); }),
      {"weight"});
  expect_parts(refusal_of_header([](message_header& h) { h.payload_bytes = huge; }),
               {"payload bytes after the tables"});
  expect_parts(refusal_of_header([](message_header& h) { h.blocks = ~0U; }),
               {"payload bytes after the tables"});
  expect_parts(refusal_of_header([](message_header& h) { h.blocks = 1, h.payload_bytes += 8; }), {"blocks"});
  expect_parts(refusal_of_header([](message_header& h) { h.thresholds = 2, h.payload_bytes += 2; }),
               {"thresholds"});
  expect_parts(refusal_of_header([](message_header& h) { h.multiples = huge; }), {"values after the codes"});
  expect_parts(refusal_of_header([](message_header& h) { h.coding = message_coding::values; }),
               {"thresholds"});
  expect_parts(refusal_of_header([](message_header& h) { h.kind = message_kind::nothing; }), {"thresholds"});
}

TEST(message, with_invalid_tables_is_refused) {
  std::size_t const thresholds = 96, entries = thresholds + 6;
  auto const with = [&](std::size_t at, auto value) {
    message_bytes message = sparse();
    std::memcpy(message.data() + at, &value, sizeof value);
    return refusal(resealed(message));
  };
  for (std::uint16_t const pattern : {0x0000, 0x8000, 0xbf00, 0x7f80, 0x7fc0, 0x0001, 0x7f00})
    expect_parts(with(thresholds + 2, pattern), {"threshold 1"});
  expect_parts(with(entries, block_entry::of(0, 65'537, false)), {"elements sent in a block"});
  expect_parts(with(entries, block_entry::of(3, 5, false)), {"first bit of the first block"});
  expect_parts(with(entries + 8, block_entry::of(std::uint64_t{1} << 45, 5, false)),
               {"first bit of a block"});
  expect_parts(with(entries + 8, block_entry::of(0, 9475, false)), {"elements sent in a block", "0 to 9474"});
  std::size_t const multiple = sparse().size() - sizeof(sent_multiple);
  expect_parts(with(multiple, table.elements()), {"index of a multiple"});
  for (double const bad : {65'535.0, 0.0, 65'537.5, 0x1p122, 1e300, std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()})
    expect_parts(with(multiple + 8, bad), {"multiple of element 65536"});
}

TEST(message, with_invalid_codes_is_refused_and_changes_nothing) {
  for (double const t : {4.0, 0.5, 0.05}) {
    message_bytes const message = sparse(t);
    std::size_t const codes = 96 + 6 + 16;
    message_codec codec(table);
    std::vector<float> const before = gradient(table.elements(), 9);
    int refusals = 0;
    for (std::uint64_t round = 0; round < 200; ++round) {
      random_stream const stream(round, "damage");
      message_bytes damaged = message;
      for (std::uint64_t k = 0; k < 20; ++k)  // also bits of the last block and their neighbours
        damaged[codes + stream.below(2 * k, damaged.size() - codes - 16)] =
            static_cast<std::byte>(stream.bits(2 * k + 1));
      damaged = resealed(damaged);
      std::vector<float> dense = before;
      try {
        codec.decode_add(damaged, expected, 1, dense);
      } catch (data_error const&) {
        ++refusals;
        ASSERT_EQ(dense, before);
      }
    }
    EXPECT_GT(refusals, 150) << t;
  }
}

TEST(message, with_invalid_values_is_refused) {
  top_k_compressor codec(table, {.density = 0.01});
  std::vector<float> r(table.elements());
  message_bytes const message = kept(codec.encode(stamp, r, gradient(table.elements(), 1)));
  EXPECT_NO_THROW(message_view::parse(isa::baseline, message, table, expected));
  for (float const bad :
       {-1.0F, -0.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    message_bytes other = message;
    std::memcpy(other.data() + other.size() - sizeof bad, &bad, sizeof bad);
    expect_parts(refusal(resealed(other)), {"value", "0 to 2^120"});
  }
  message_header header = header_in(message);
  header.multiples = 1;
  expect_parts(refusal(resealed(message, header)), {"multiples"});
}

TEST(message, without_entries_has_only_a_header) {
  message_codec codec(table);
  message_bytes message = kept(codec.nothing(stamp));
  EXPECT_NO_THROW(message_view::parse(isa::baseline, message, table, expected));
  message.resize(message.size() + 4);
  message_header header = header_in(message);
  header.payload_bytes = 4;
  expect_parts(refusal(resealed(message, header)), {"payload"});
}

}  // namespace message_test
