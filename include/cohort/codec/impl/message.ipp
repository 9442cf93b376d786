// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cohort/codec/message.hpp>
#include <cohort/io/crc32c.hpp>
#include <cohort/tensor/finite.hpp>
#include <string_view>
#include <utility>

namespace cohort {

std::uint64_t message_view::end_of_block(std::size_t b) const {
  return b + 1 < header.blocks ? block(b + 1).bit() : end_;
}

std::size_t message_view::length(std::size_t b) const {
  return static_cast<std::size_t>(
      std::min<std::uint64_t>(block_elements, header.elements - b * std::uint64_t{block_elements}));
}

}  // namespace cohort

namespace cohort::detail {

void refuse_message(clause where, clause expected, clause got) {
  throw data_error({.what = "cannot read a message",
                    .where = std::move(where),
                    .expected = std::move(expected),
                    .got = std::move(got)});
}

void require_in_message(bool holds, std::string_view field, std::uint64_t lowest, std::uint64_t highest,
                        std::uint64_t got) {
  if (holds) return;
  if (lowest == highest) refuse_message({field}, {lowest}, {got});
  refuse_message({field}, {lowest, " to ", highest}, {got});
}

void require_in_message(std::string_view field, std::uint64_t lowest, std::uint64_t highest,
                        std::uint64_t got) {
  require_in_message(got >= lowest && got <= highest, field, lowest, highest, got);
}

std::uint32_t message_crc(isa which, std::span<std::byte const> message) {
  constexpr std::size_t before = sizeof(message_header) - sizeof(std::uint32_t);
  return io::crc32c(which, message.subspan(sizeof(message_header)), io::crc32c(which, message.first(before)));
}

/// Returns whether a magnitude is between 0 and largest_value. Compares bit patterns, because negative
/// numbers and NaN have larger bit patterns.
bool is_value(float magnitude) {
  return std::bit_cast<std::uint32_t>(magnitude) <= std::bit_cast<std::uint32_t>(largest_value);
}

/// Returns whether a multiple has at most 16 significant bits and a magnitude of at least most_thresholds.
bool is_multiple(double k) {
  constexpr std::uint64_t below = (std::uint64_t{1} << 37) - 1;
  return is_finite(k) && (std::bit_cast<std::uint64_t>(k) & below) == 0
         && (k >= double{most_thresholds} || -k >= double{most_thresholds});
}

}  // namespace cohort::detail

namespace cohort {

message_view message_view::parse(isa which, std::span<std::byte const> bytes, tensor_table const& table,
                                 expected_messages const& expected) {
  using detail::refuse_message;
  using detail::require_in_message;
  message_view view;
  message_header& h = view.header;
  message_header const ours;
  if (bytes.size() < sizeof h) refuse_message("header", {sizeof h, " bytes"}, {bytes.size()});
  std::memcpy(static_cast<void*>(&h), bytes.data(), sizeof h);
  require_in_message("magic number", ours.magic, ours.magic, h.magic);
  require_in_message("version", ours.version, ours.version, h.version);
  std::uint64_t const room = bytes.size() - sizeof h;
  std::uint64_t const tables = std::uint64_t{2} * h.thresholds + std::uint64_t{8} * h.blocks;
  require_in_message(tables <= room && h.payload_bytes == room - tables, "payload bytes after the tables",
                     h.payload_bytes, h.payload_bytes, tables <= room ? room - tables : 0);
  if (std::uint32_t const crc = detail::message_crc(which, bytes); crc != h.crc)
    refuse_message("CRC-32C of all bytes", {h.crc}, {crc});
  require_in_message("run", expected.run, expected.run, h.run);
  require_in_message("hash of the tensor table", table.hash(), table.hash(), h.table);
  require_in_message("elements", table.elements(), table.elements(), h.elements);
  require_in_message("step", expected.first_step, expected.last_step, h.step);
  require_in_message("rank", 0, std::uint64_t{expected.ranks} - 1, h.rank);
  require_in_message("number of merged ranks", 1, std::uint64_t{expected.ranks} - h.rank, h.ranks);
  require_in_message("kind", 0, static_cast<std::uint64_t>(message_kind::nothing),
                     static_cast<std::uint64_t>(h.kind));
  require_in_message("coding", 0, static_cast<std::uint64_t>(message_coding::values),
                     static_cast<std::uint64_t>(h.coding));
  if (!is_finite(h.weight) || h.weight < 0)
    refuse_message("weight", "a finite number of at least 0", {h.weight});

  view.thresholds_ = bytes.data() + sizeof h;
  view.blocks_ = view.thresholds_ + std::size_t{2} * h.thresholds;
  view.codes_ = bytes.last(static_cast<std::size_t>(h.payload_bytes));
  if (h.kind == message_kind::sparse) {
    view.check_sparse(table);
    return view;
  }
  require_in_message("thresholds", 0, 0, h.thresholds);
  require_in_message("blocks", 0, 0, h.blocks);
  require_in_message("multiples", 0, 0, h.multiples);
  require_in_message("payload", 0, 0, h.payload_bytes);
  return view;
}

void message_view::check_sparse(tensor_table const& table) {
  using detail::refuse_message;
  using detail::require_in_message;
  message_header const& h = header;
  constexpr bf16 smallest = bf16::nearest(smallest_threshold), largest = bf16::nearest(largest_threshold);
  bool const ternary = h.coding == message_coding::ternary;
  require_in_message("blocks", blocks_of(h.elements), blocks_of(h.elements), h.blocks);
  if (ternary)
    require_in_message(h.thresholds == 1 || h.thresholds == table.size(), "thresholds", 1, table.size(),
                       h.thresholds);
  else
    require_in_message("thresholds", 0, 0, h.thresholds);
  for (std::size_t k = 0; k < h.thresholds; ++k)
    if (bf16 const t = threshold(k); t.pattern < smallest.pattern || t.pattern > largest.pattern)
      refuse_message({"threshold ", k}, {double{smallest_threshold}, " to ", double{largest_threshold}},
                     {"the bf16 with bit pattern ", t.pattern});

  for (std::size_t b = 0; b < h.blocks; ++b) {
    require_in_message(block(b).count() <= length(b), "elements sent in a block", 0, length(b),
                       block(b).count());
    sent_ += block(b).count();
  }
  std::uint64_t const each = ternary ? sizeof(sent_multiple) : sizeof(float);
  std::uint64_t const listed = ternary ? h.multiples : sent_;
  if (!ternary) require_in_message("multiples", 0, 0, h.multiples);
  require_in_message("number of values after the codes", 0,
                     std::min<std::uint64_t>(codes_.size() / each, h.elements), listed);
  codes_ = codes_.first(codes_.size() - static_cast<std::size_t>(each * listed));
  tail_ = codes_.data() + codes_.size();

  std::uint64_t const bits = 8 * std::uint64_t{codes_.size()};
  std::uint64_t from = 0;
  for (std::size_t b = 0; b < h.blocks; ++b) {
    require_in_message("first bit of a block", from, bits, block(b).bit());
    if (b == 0) require_in_message("first bit of the first block", 0, 0, block(b).bit());
    from = block(b).bit();
  }
  end_ = bits;  // includes up to 7 padding bits in the last byte

  for (std::uint64_t m = 0, next = 0; ternary && m < listed; ++m) {
    sent_multiple const one = multiple(m);
    require_in_message("index of a multiple", next, h.elements - 1, one.index);
    next = one.index + 1;
    std::size_t const k =
        h.thresholds == 1
            ? 0
            : static_cast<std::size_t>(std::upper_bound(table.ends().begin(), table.ends().end(), one.index)
                                       - table.ends().begin());
    if (!detail::is_multiple(one.multiple)
        || std::abs(one.multiple * double{threshold(k).value()}) > double{largest_value})
      refuse_message(
          {"multiple of element ", one.index},
          "a magnitude of at least 65536 with at most 16 significant bits, and a value of at most 2^120",
          {one.multiple});
  }
  for (std::uint64_t k = 0; !ternary && k < listed; ++k)
    if (float const v = value(k); !detail::is_value(v))
      refuse_message({"value ", k}, "0 to 2^120", {double{v}});
}

}  // namespace cohort
