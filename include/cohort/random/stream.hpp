// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cmath>
#include <cohort/detail/hash.hpp>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <type_traits>

namespace cohort {

namespace detail {

using philox_words = std::array<std::uint32_t, 4>;

/// Returns one Philox4x32-10 block.
constexpr philox_words philox(std::uint64_t counter_low, std::uint64_t counter_high, std::uint64_t key) {
  using word = std::uint32_t;
  philox_words x{static_cast<word>(counter_low), static_cast<word>(counter_low >> 32),
                 static_cast<word>(counter_high), static_cast<word>(counter_high >> 32)};
  auto key_0 = static_cast<word>(key), key_1 = static_cast<word>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    std::uint64_t const p_0 = std::uint64_t{0xD2511F53} * x[0], p_1 = std::uint64_t{0xCD9E8D57} * x[2];
    x = {static_cast<word>(p_1 >> 32) ^ x[1] ^ key_0, static_cast<word>(p_1),
         static_cast<word>(p_0 >> 32) ^ x[3] ^ key_1, static_cast<word>(p_0)};
    key_0 += 0x9E3779B9;
    key_1 += 0xBB67AE85;
  }
  return x;
}

inline std::uint64_t combine(std::uint32_t low, std::uint32_t high) {
  return static_cast<std::uint64_t>(high) << 32 | low;
}

}  // namespace detail

/// Counter-based random numbers: pure functions of (seed, purpose, step, index, i). A stream has no state, so
/// numbers can be computed in any order and on any thread. Streams of different arguments are independent.
///
/// Parameters  random_stream(seed, purpose_of(layer_name, parameter_name)); i is the element's index in the
///             canonical layout.
/// Masks       random_stream(seed, purpose_of("dropout", layer_name), step, example_index); i is the
///             element's index in the example.
/// Exact       bits, uniform01 and below return the same numbers on every machine; normal does so with the
///             same math library.
/// Source      Philox4x32-10: Salmon, Moraes, Dror and Shaw, SC 2011. A stream's key is the first half of the
///             Philox block with counter (purpose, step) and the seed as key. The counter of element i is
///             (i / 2, index).
class random_stream {
 public:
  random_stream(std::uint64_t seed, std::uint64_t purpose, std::uint64_t step = 0, std::uint64_t index = 0)
      : index_(index) {
    detail::philox_words const words = detail::philox(purpose, step, seed);
    key_ = detail::combine(words[0], words[1]);
  }
  random_stream(std::uint64_t seed, std::string_view purpose, std::uint64_t step = 0, std::uint64_t index = 0)
      : random_stream(seed, detail::purpose_of(purpose), step, index) {}

  /// Returns the stream of the same seed, purpose and step at another index, without deriving the key again.
  random_stream at(std::uint64_t index) const {
    random_stream other = *this;
    other.index_ = index;
    return other;
  }

  /// Returns the Philox key, a function of seed, purpose and step. Kernels compute blocks from key and index.
  std::uint64_t key() const { return key_; }

  /// Returns four independent words, from which elements 2·number and 2·number + 1 are computed.
  std::array<std::uint32_t, 4> block(std::uint64_t number) const {
    return detail::philox(number, index_, key_);
  }

  /// Returns the 64 uniform bits of element i.
  std::uint64_t bits(std::uint64_t i) const {
    detail::philox_words const words = block(i / 2);
    return i % 2 == 0 ? detail::combine(words[0], words[1]) : detail::combine(words[2], words[3]);
  }

  /// Returns a number uniform in [0, 1): the upper 24 bits (float) or 53 bits (double) of bits(i).
  template <class T = float>
  T uniform01(std::uint64_t i) const {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
    if constexpr (std::is_same_v<T, float>)
      return static_cast<float>(bits(i) >> 40) * 0x1p-24F;
    else
      return static_cast<double>(bits(i) >> 11) * 0x1p-53;
  }

  /// Returns a number of the standard normal distribution, computed in double. Elements 2j and 2j + 1 are
  /// the two results of one Box–Muller transform.
  ///
  /// Source    Box and Muller, 1958.
  template <class T = float>
  T normal(std::uint64_t i) const {
    detail::philox_words const words = block(i / 2);
    double const above_zero = (static_cast<double>(detail::combine(words[0], words[1]) >> 11) + 1) * 0x1p-53;
    double const fraction_of_turn = static_cast<double>(detail::combine(words[2], words[3]) >> 11) * 0x1p-53;
    double const radius = std::sqrt(-2 * std::log(above_zero));
    double const angle = 2 * std::numbers::pi * fraction_of_turn;
    return static_cast<T>(radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle)));
  }

  /// Returns an integer uniform in {0, …, bound − 1}.  Before: bound > 0.
  ///
  /// Exact     the relative error of each value's probability is at most bound / 2⁶⁴.
  std::uint64_t below(std::uint64_t i, std::uint64_t bound) const {
    __extension__ using wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<wide>(bits(i)) * bound >> 64);
  }

 private:
  std::uint64_t key_ = 0;
  std::uint64_t index_ = 0;
};

}  // namespace cohort
