// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace cohort::detail {

/// Where bits are put one behind the other, the lowest of each byte first. A value of its own, so that a loop can hold it in
/// registers: what it stores could be anything of a bit_writer's.
struct bit_cursor {
  static constexpr unsigned most = 56;

  std::byte* at;
  std::uint64_t pending;  // `fill` bits, below 8, that `at` has no byte for yet
  unsigned fill;

  /// Before    bits ≤ most, `word` has none above them, and 8 bytes at `at` may be overwritten.
  void put(std::uint64_t word, unsigned bits) {
    pending |= word << fill;
    fill += bits;
    std::memcpy(at, &pending, sizeof pending);
    at += fill >> 3;
    pending >>= fill & most;
    fill &= 7;
  }
};

/// A stream of bits in memory, which it keeps when it is emptied.
class bit_writer {
 public:
  void clear() { bits_ = pending_ = 0; }
  std::uint64_t bits() const { return bits_; }

  /// A cursor at the end, with room for `more` bits.
  bit_cursor extend(std::uint64_t more) {
    std::size_t const needed = static_cast<std::size_t>((bits_ + more) / 8) + 2 * sizeof(std::uint64_t);
    if (needed > bytes_.size()) bytes_.resize(needed + needed / 2);
    return {bytes_.data() + bits_ / 8, pending_, static_cast<unsigned>(bits_ & 7)};
  }
  void extended_to(bit_cursor end) {
    bits_ = 8 * static_cast<std::uint64_t>(end.at - bytes_.data()) + end.fill;
    pending_ = end.pending;
  }

  /// Appends all its bits to another stream that has room for them and for 8 bytes more.
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
      std::memcpy(to.at, &to.pending, sizeof to.pending);  // nothing may come behind
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

/// At least 57 bits from bit `at` on; zeros stand behind the end.
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
