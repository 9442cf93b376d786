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
  std::uint64_t end_of_block(std::size_t b) const;
  /// Elements sent in blocks; multiples are not counted.
  std::uint64_t sent() const { return sent_; }
  /// How many elements block b covers.
  std::size_t length(std::size_t b) const;

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

[[noreturn, gnu::cold]] void refuse_message(clause where, clause expected, clause got);

std::uint32_t message_crc(isa which, std::span<std::byte const> message);

}  // namespace detail

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/codec/impl/message.ipp>
#endif
