// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/tensor_table.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/isa.hpp>
#include <cohort/tensor/bf16.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace cohort {

/// Content of a message. sparse: elements of a gradient. not_finite: the gradient was not finite. nothing:
/// the rank had no examples.
enum class message_kind : std::uint8_t { sparse, not_finite, nothing };

/// Encoding of the values in a sparse message. ternary: sign · threshold. values: a sign and an f32 magnitude
/// for each element.
enum class message_coding : std::uint8_t { ternary, values };

/// Header of a message: its first 96 bytes, in wire format (little-endian).
///
/// Layout    header; `thresholds` × bf16; `blocks` × block_entry; payload. The payload is the blocks' codes
///           (a bit stream padded to a full byte), followed by `multiples` × sent_multiple (ternary) or one
///           f32 per element sent (values).
/// Units     `table` is tensor_table::hash(). `examples` and `weight` are sums over the merged ranks, which
///           are [rank, rank + ranks). `flags` are defined by the strategy.
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
  std::uint32_t crc = 0;  ///< CRC-32C of all other bytes of the message

  constexpr bool operator==(message_header const&) const = default;
};
static_assert(sizeof(message_header) == 96, "cohort: the header has no padding");

/// Number of elements of the flat view (see tensor_table) in one block. Blocks are coded independently.
inline constexpr std::size_t block_elements = std::size_t{1} << 16;

/// Returns the number of blocks of `elements` elements; the last block may be incomplete.
constexpr std::uint64_t blocks_of(std::uint64_t elements) {
  return (elements + block_elements - 1) / block_elements;
}

/// Table entry of one block: the number of elements sent, and the position and format (gaps or bitmap) of the
/// block's codes.
///
/// Units     `bit` counts from the beginning of the payload and is below 2⁴⁶.
struct block_entry {
  std::uint64_t word = 0;

  static constexpr block_entry of(std::uint64_t bit, std::uint32_t count, bool bitmap) {
    return {bit | static_cast<std::uint64_t>(bitmap) << 46 | static_cast<std::uint64_t>(count) << 47};
  }
  constexpr std::uint64_t bit() const { return word & ((std::uint64_t{1} << 46) - 1); }
  constexpr bool bitmap() const { return (word >> 46 & 1) != 0; }
  constexpr std::uint32_t count() const { return static_cast<std::uint32_t>(word >> 47); }
};

/// An element whose magnitude exceeds 2¹⁶·t, sent as multiple·t, where t is the threshold. The multiple has
/// at most 16 significant bits, so that both the value and the remainder in the residual are exact.
struct sent_multiple {
  std::uint64_t index = 0;
  double multiple = 0;
};

/// Elements (residual plus gradient) with magnitudes of at most this multiple of the threshold t are sent as
/// ±t, larger ones as a sent_multiple.
inline constexpr float most_thresholds = 0x1p16F;

/// Range of thresholds, both ends included. For thresholds t in this range, 2¹⁶·t and the remainder of an
/// element are finite and normal.
inline constexpr float smallest_threshold = 0x1p-100F;
inline constexpr float largest_threshold = 0x1p100F;  ///< see smallest_threshold

/// Largest magnitude that a message adds to an element. With this bound the sum of two messages and a
/// residual is finite.
inline constexpr float largest_value = 0x1p120F;

/// Messages that a reader accepts: those of `run`, of steps [first_step, last_step] and of ranks [0, ranks).
struct expected_messages {
  std::uint64_t run = 0;
  std::uint64_t first_step = 0;
  std::uint64_t last_step = 0;
  std::uint32_t ranks = 1;
};

/// A message whose checksum, header and tables have been checked. message_reader checks the codes.
///
/// Cost      copies nothing: refers to the caller's bytes, which need no alignment.
class message_view {
 public:
  message_header header{};

  /// Return entry k, b or m of the message's tables.
  ///
  /// Before    the index is below header.thresholds, header.blocks or header.multiples. value: k is below
  ///           sent().
  bf16 threshold(std::size_t k) const { return at<bf16>(thresholds_, k); }
  block_entry block(std::size_t b) const { return at<block_entry>(blocks_, b); }
  sent_multiple multiple(std::size_t m) const { return at<sent_multiple>(tail_, m); }
  float value(std::size_t k) const { return at<float>(tail_, k); }
  /// Returns the payload without its multiples or values.
  std::span<std::byte const> codes() const { return codes_; }
  /// Returns the first bit after the codes of block b. For the last block, up to 7 padding bits are included.
  std::uint64_t end_of_block(std::size_t b) const;
  /// Returns the number of elements sent in blocks; multiples are not counted.
  std::uint64_t sent() const { return sent_; }
  /// Returns the number of elements that block b covers.
  std::size_t length(std::size_t b) const;

  /// Parses and checks a message.
  ///
  /// Errors    data_error if the bytes are truncated or damaged, belong to another run, table or step, or
  ///           contain an impossible value. The error names the field, the expected and the actual value.
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

/// Throws the data_error "cannot read a message".
[[noreturn, gnu::cold]] void refuse_message(clause where, clause expected, clause got);

/// Returns the CRC-32C of a message without the four bytes of its `crc` field.
std::uint32_t message_crc(isa which, std::span<std::byte const> message);

}  // namespace detail

}  // namespace cohort
