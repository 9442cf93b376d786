// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/arrays.hpp>
#include <cohort/data/detail/digit_glyph.hpp>
#include <cohort/random/stream.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort {

/// Generates synthetic images of digits, for use without MNIST: built-in glyphs, shifted, scaled and sheared,
/// with noise.
///
/// Shapes    28 × 28 u8; 0 is background, 255 is ink.
/// Exact     example i depends only on (seed, i).
class digit_drawer {
 public:
  static constexpr int side = 28;
  static constexpr std::size_t pixels = std::size_t{side} * side;

  explicit digit_drawer(std::uint64_t seed);

  /// Writes example `i` to `out` and returns its label, 0 to 9.
  int draw(std::int64_t i, std::span<std::uint8_t, pixels> out) const;

 private:
  random_stream stream_;
  std::vector<detail::digit_glyph> glyphs_;
};

/// Returns a data set of synthetic digits: examples [first, first + count) of the seed. Not suitable for
/// measuring a network's accuracy.
///
/// Shapes    input 1 × 28 × 28, scaled to [0, 1]; label 0 to 9 with the names "0" to "9".
/// Errors    setting_error if count < 1.
/// Cost      allocates count · 785 bytes.
arrays synthetic_digits(int count, std::uint64_t seed, std::int64_t first = 0);

}  // namespace cohort
