// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace cohort::detail {

/// Write position in a bit stream; bits fill each byte from its lowest bit. A cursor is separate from
/// bit_writer, so that a loop can keep the fields in registers: members of bit_writer might alias the bytes
/// that the loop stores.
struct bit_cursor {
  static constexpr unsigned most = 56;

  std::byte* at;
  std::uint64_t pending;  // the `fill` (below 8) bits of the incomplete byte at `at`
  unsigned fill;

  /// Appends the lowest `bits` bits of `word`.
  ///
  /// Before    bits ≤ most, the other bits of `word` are 0, and 8 bytes at `at` may be overwritten.
  void put(std::uint64_t word, unsigned bits) {
    pending |= word << fill;
    fill += bits;
    std::memcpy(at, &pending, sizeof pending);
    at += fill >> 3;
    pending >>= fill & most;
    fill &= 7;
  }
};

/// A growing bit stream in memory. clear does not free the memory.
class bit_writer {
 public:
  void clear() { bits_ = pending_ = 0; }
  std::uint64_t bits() const { return bits_; }

  /// Returns a cursor at the end, with room for `more` bits.
  bit_cursor extend(std::uint64_t more) {
    std::size_t const needed = static_cast<std::size_t>((bits_ + more) / 8) + 2 * sizeof(std::uint64_t);
    if (needed > bytes_.size()) bytes_.resize(needed + needed / 2);
    return {bytes_.data() + bits_ / 8, pending_, static_cast<unsigned>(bits_ & 7)};
  }
  /// Sets the end of the stream to a cursor that extend returned and the caller advanced.
  void extended_to(bit_cursor end) {
    bits_ = 8 * static_cast<std::uint64_t>(end.at - bytes_.data()) + end.fill;
    pending_ = end.pending;
  }

  /// Appends all bits of this stream at a cursor, which has room for these bits and for 8 more bytes.
  void append_to(bit_cursor& to) const {
    if (bits_ == 0) return;
    std::uint64_t const whole = bits_ / 64;
    std::byte const* from = bytes_.data();
    if (to.fill == 0) {
      std::memcpy(to.at, from, static_cast<std::size_t>(8 * whole));
      to.at += 8 * whole;
      from += 8 * whole;
    } else {
      for (std::uint64_t k = 0; k < whole; ++k, from += 8, to.at += 8) {
        std::uint64_t word;
        std::memcpy(&word, from, sizeof word);
        to.pending |= word << to.fill;
        std::memcpy(to.at, &to.pending, sizeof word);
        to.pending = word >> (64 - to.fill);
      }
      std::memcpy(to.at, &to.pending, sizeof to.pending);  // the loop below may be empty
    }
    for (unsigned left = bits_ & 63; left > 0; ++from) {
      unsigned const some = std::min(left, 8U);
      std::uint64_t const word = left < 8 ? pending_ : std::to_integer<std::uint64_t>(*from);
      to.put(word, some);
      left -= some;
    }
  }

 private:
  std::vector<std::byte> bytes_;
  std::uint64_t bits_ = 0;
  std::uint64_t pending_ = 0;
};

/// Returns at least 57 bits from bit `at` on. Bits after the end are 0.
inline std::uint64_t peek_bits(std::span<std::byte const> bytes, std::uint64_t at) {
  auto const first = static_cast<std::size_t>(at >> 3);
  std::uint64_t word = 0;
  if (first + sizeof word <= bytes.size()) [[likely]]
    std::memcpy(&word, bytes.data() + first, sizeof word);
  else if (first < bytes.size())
    std::memcpy(&word, bytes.data() + first, bytes.size() - first);
  return word >> (at & 7);
}

}  // namespace cohort::detail
