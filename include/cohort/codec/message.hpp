// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cohort/codec/tensor_table.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/crc32c.hpp>
#include <cohort/tensor/bf16.hpp>
#include <cohort/tensor/finite.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace cohort {

/// What a message brings: elements of a gradient; that the gradient was not finite; that the rank had no examples.
enum class message_kind : std::uint8_t { sparse, not_finite, nothing };

/// How the values of a sparse message are said: a sign, times the threshold; or a magnitude of its own (f32) each.
enum class message_coding : std::uint8_t { ternary, values };

/// The first 96 bytes of a message, as they are on the wire (little-endian).
///
/// Layout    header; `thresholds` of bf16; `blocks` of block_entry; payload: the blocks' codes, a stream of bits filled
///           up to a byte; then, ternary: `multiples` of sent_multiple; values: an f32 for each element sent.
/// Units     examples and weight are sums over the `ranks` ranks whose gradients were merged, from `rank` up; `flags` are the
///           strategy's own.
struct message_header {
  std::uint32_t magic = 0x74726863;  // "chrt"
  std::uint16_t version = 1;
  message_kind kind = message_kind::nothing;
  message_coding coding = message_coding::ternary;
  std::uint64_t run = 0;
  std::uint64_t table = 0;
  std::uint64_t step = 0;
  std::uint64_t elements = 0;
  std::uint64_t examples = 0;
  double weight = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t multiples = 0;
  std::uint32_t thresholds = 0;
  std::uint32_t blocks = 0;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::uint32_t flags = 0;
  std::uint32_t crc = 0;  // of all bytes but these four

  constexpr bool operator==(message_header const&) const = default;
};
static_assert(sizeof(message_header) == 96, "cohort: the header has no padding");

/// Elements of the flat view that are coded together, independently of all others.
inline constexpr std::size_t block_elements = std::size_t{1} << 16;

constexpr std::uint64_t blocks_of(std::uint64_t elements) {
  return (elements + block_elements - 1) / block_elements;
}

/// What a message's table says about one block: how many elements are sent, where its codes begin, and which they are.
///
/// Units     `bit`: from the beginning of the payload, below 2⁴⁶.
struct block_entry {
  std::uint64_t word = 0;

  static constexpr block_entry of(std::uint64_t bit, std::uint32_t count, bool bitmap) {
    return {bit | static_cast<std::uint64_t>(bitmap) << 46 | static_cast<std::uint64_t>(count) << 47};
  }
  constexpr std::uint64_t bit() const { return word & ((std::uint64_t{1} << 46) - 1); }
  constexpr bool bitmap() const { return (word >> 46 & 1) != 0; }
  constexpr std::uint32_t count() const { return static_cast<std::uint32_t>(word >> 47); }
};

/// An element beyond 2¹⁶ thresholds: its value is multiple·t. The multiple has at most 16 significant bits, so that the value
/// and what remains of the element are exact.
struct sent_multiple {
  std::uint64_t index = 0;
  double multiple = 0;
};

/// |r + x| up to which an element is sent as one threshold.
inline constexpr float most_thresholds = 0x1p16F;

/// Thresholds lie between these, so that 2¹⁶ of them, and what is left of an element, stay finite and normal.
inline constexpr float smallest_threshold = 0x1p-100F;
inline constexpr float largest_threshold = 0x1p100F;

/// No message brings more to an element, so that two of them and a residual stay finite.
inline constexpr float largest_value = 0x1p120F;

/// What a reader takes: this run's messages about these tensors, from these ranks and steps.
struct expected_messages {
  std::uint64_t run = 0;
  std::uint64_t first_step = 0;
  std::uint64_t last_step = 0;
  std::uint32_t ranks = 1;
};

/// A message whose bytes are whole and whose tables agree with them. Its codes are not looked at yet: message_reader does.
///
/// Moves     nothing: it shows the caller's bytes, which need no alignment.
class message_view {
 public:
  message_header header{};

  bf16 threshold(std::size_t k) const { return at<bf16>(thresholds_, k); }
  block_entry block(std::size_t b) const { return at<block_entry>(blocks_, b); }
  sent_multiple multiple(std::size_t m) const { return at<sent_multiple>(tail_, m); }
  float value(std::size_t k) const { return at<float>(tail_, k); }
  /// The payload up to its multiples or values, and in which bit it ends.
  std::span<std::byte const> codes() const { return codes_; }
  std::uint64_t end_of_block(std::size_t b) const {
    return b + 1 < header.blocks ? block(b + 1).bit() : end_;
  }
  /// Elements sent in blocks; multiples are not counted.
  std::uint64_t sent() const { return sent_; }
  /// How many elements block b covers.
  std::size_t length(std::size_t b) const {
    return static_cast<std::size_t>(
        std::min<std::uint64_t>(block_elements, header.elements - b * std::uint64_t{block_elements}));
  }

  /// The message that these bytes are.
  ///
  /// Errors    data_error naming field and byte, for bytes that are cut, damaged, of another run, table or step, or
  ///           say what cannot be.
  static message_view parse(isa which, std::span<std::byte const> bytes, tensor_table const& table,
                            expected_messages const& expected);

 private:
  template <class T>
  static T at(std::byte const* list, std::size_t k) {
    T one;
    std::memcpy(&one, list + k * sizeof one, sizeof one);
    return one;
  }
  void check_sparse(tensor_table const& table);

  std::byte const* thresholds_ = nullptr;
  std::byte const* blocks_ = nullptr;
  std::byte const* tail_ = nullptr;
  std::span<std::byte const> codes_{};
  std::uint64_t end_ = 0;
  std::uint64_t sent_ = 0;
};

namespace detail {

[[noreturn, gnu::cold]] inline void refuse_message(clause where, clause expected, clause got) {
  throw data_error({.what = "cannot read a message",
                    .where = std::move(where),
                    .expected = std::move(expected),
                    .got = std::move(got)});
}

inline void require_in_message(bool holds, std::string_view field, std::uint64_t lowest,
                               std::uint64_t highest, std::uint64_t got) {
  if (holds) return;
  if (lowest == highest) refuse_message({field}, {lowest}, {got});
  refuse_message({field}, {lowest, " to ", highest}, {got});
}
inline void require_in_message(std::string_view field, std::uint64_t lowest, std::uint64_t highest,
                               std::uint64_t got) {
  require_in_message(got >= lowest && got <= highest, field, lowest, highest, got);
}

inline std::uint32_t message_crc(isa which, std::span<std::byte const> message) {
  constexpr std::size_t before = sizeof(message_header) - sizeof(std::uint32_t);
  return crc32c(which, message.subspan(sizeof(message_header)), crc32c(which, message.first(before)));
}

/// Whether a magnitude is one that messages bring: by its pattern, which negative numbers and NaN are above.
inline bool is_value(float magnitude) {
  return std::bit_cast<std::uint32_t>(magnitude) <= std::bit_cast<std::uint32_t>(largest_value);
}

/// Whether a multiple has at most 16 significant bits and is beyond most_thresholds.
inline bool is_multiple(double k) {
  constexpr std::uint64_t below = (std::uint64_t{1} << 37) - 1;
  return is_finite(k) && (std::bit_cast<std::uint64_t>(k) & below) == 0
         && (k >= double{most_thresholds} || -k >= double{most_thresholds});
}

}  // namespace detail

inline message_view message_view::parse(isa which, std::span<std::byte const> bytes,
                                        tensor_table const& table, expected_messages const& expected) {
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
  require_in_message(tables <= room && h.payload_bytes == room - tables, "bytes behind the tables",
                     h.payload_bytes, h.payload_bytes, tables <= room ? room - tables : 0);
  if (std::uint32_t const crc = detail::message_crc(which, bytes); crc != h.crc)
    refuse_message("CRC-32C of all bytes", {h.crc}, {crc});
  require_in_message("run", expected.run, expected.run, h.run);
  require_in_message("hash of the tensor table", table.hash(), table.hash(), h.table);
  require_in_message("elements", table.elements(), table.elements(), h.elements);
  require_in_message("step", expected.first_step, expected.last_step, h.step);
  require_in_message("rank", 0, std::uint64_t{expected.ranks} - 1, h.rank);
  require_in_message("merged ranks", 1, std::uint64_t{expected.ranks} - h.rank, h.ranks);
  require_in_message("kind", 0, static_cast<std::uint64_t>(message_kind::nothing),
                     static_cast<std::uint64_t>(h.kind));
  require_in_message("coding", 0, static_cast<std::uint64_t>(message_coding::values),
                     static_cast<std::uint64_t>(h.coding));
  if (!is_finite(h.weight) || h.weight < 0) refuse_message("weight", "a number from 0", {h.weight});

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

inline void message_view::check_sparse(tensor_table const& table) {
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
                     {"the bf16 of pattern ", t.pattern});

  for (std::size_t b = 0; b < h.blocks; ++b) {
    require_in_message(block(b).count() <= length(b), "elements sent of a block", 0, length(b),
                       block(b).count());
    sent_ += block(b).count();
  }
  std::uint64_t const each = ternary ? sizeof(sent_multiple) : sizeof(float);
  std::uint64_t const listed = ternary ? h.multiples : sent_;
  if (!ternary) require_in_message("multiples", 0, 0, h.multiples);
  require_in_message("values behind the codes", 0, std::min<std::uint64_t>(codes_.size() / each, h.elements),
                     listed);
  codes_ = codes_.first(codes_.size() - static_cast<std::size_t>(each * listed));
  tail_ = codes_.data() + codes_.size();

  std::uint64_t const bits = 8 * std::uint64_t{codes_.size()};
  std::uint64_t from = 0;
  for (std::size_t b = 0; b < h.blocks; ++b) {
    require_in_message("first bit of a block", from, bits, block(b).bit());
    if (b == 0) require_in_message("first bit of the first block", 0, 0, block(b).bit());
    from = block(b).bit();
  }
  end_ = bits;  // up to 7 of them fill the last byte

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
      refuse_message({"multiple of element ", one.index},
                     "16 significant bits, from 65536, a value up to 2^120", {one.multiple});
  }
  for (std::uint64_t k = 0; !ternary && k < listed; ++k)
    if (float const v = value(k); !detail::is_value(v))
      refuse_message({"value ", k}, "0 to 2^120", {double{v}});
}

}  // namespace cohort
