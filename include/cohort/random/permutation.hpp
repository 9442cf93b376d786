// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <bit>
#include <cohort/random/stream.hpp>
#include <cstdint>

namespace cohort {

/// A random permutation of 0 … size − 1 that needs no memory for its elements.
///
/// Order     several threads may use one permutation.
/// Cost      an element needs fewer than 16 Philox blocks on average; a block takes some 10 ns.
/// Exact     the permutation is a function of (stream, size), and the same on every machine.
/// Source    a Feistel network with cycle walking: Black and Rogaway, Ciphers with Arbitrary Finite Domains,
///           CT-RSA 2002. Eight rounds; the round function is Philox.
class random_permutation {
 public:
  /// Before    size ≥ 1
  random_permutation(random_stream const& stream, std::int64_t size)
      : stream_(stream), size_(static_cast<std::uint64_t>(size)) {
    int const bits = std::bit_width(size_ - 1);
    bits_ = {bits / 2, bits - bits / 2};
  }

  std::int64_t size() const { return static_cast<std::int64_t>(size_); }

  /// Returns element i.
  ///
  /// Before    0 ≤ i < size()
  std::int64_t operator[](std::int64_t i) const {
    auto at = static_cast<std::uint64_t>(i);
    do at = round_trip(at);
    while (at >= size_);  // terminates: the cycle of the larger permutation returns to its start
    return static_cast<std::int64_t>(at);
  }

 private:
  static constexpr int rounds = 8;

  /// Permutes the numbers of bits_[0] + bits_[1] bits.
  std::uint64_t round_trip(std::uint64_t number) const {
    std::uint64_t low = number & mask(bits_[1]), high = number >> bits_[1];
    for (int round = 0; round < rounds; ++round) {
      // Even rounds change the upper half, odd rounds the lower half.
      bool const odd = round % 2 != 0;
      std::uint64_t const from = odd ? high : low;
      std::uint64_t const random = stream_.at(static_cast<std::uint64_t>(round)).bits(2 * from);
      if (odd)
        low = (low ^ random) & mask(bits_[1]);
      else
        high = (high ^ random) & mask(bits_[0]);
    }
    return high << bits_[1] | low;
  }
  static constexpr std::uint64_t mask(int bits) { return (std::uint64_t{1} << bits) - 1; }

  random_stream stream_;
  std::uint64_t size_;
  std::array<int, 2> bits_{};  // bits of the upper and of the lower half
};

}  // namespace cohort
