// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/data/arrays.hpp>
#include <cohort/random/stream.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort {

namespace detail {

/// One digit, drawn once at a higher resolution; examples are sampled from it.
class digit_glyph {
 public:
  static constexpr int side = 64;

  explicit digit_glyph(char const* strokes);

  /// Ink between 0 and 1 at a place of [0, 1)², by bilinear interpolation; 0 outside.
  float at(float x, float y) const;

 private:
  static float ink_at(char const* strokes, float x, float y);

  static float distance(char const* from, char const* to, float x, float y);

  std::array<float, static_cast<std::size_t>(side) * side> ink_{};
};

}  // namespace detail

/// Draws digits for where no real ones can be had: own glyphs, shifted, scaled, sheared and noised.
///
/// Shapes    28 × 28 u8, 0 is paper and 255 ink.
/// Exact     example i is a function of (seed, i) alone.
class digit_drawer {
 public:
  static constexpr int side = 28;
  static constexpr std::size_t pixels = std::size_t{side} * side;

  explicit digit_drawer(std::uint64_t seed);

  /// Writes example `i` and gives its label, 0 to 9.
  int draw(std::int64_t i, std::span<std::uint8_t, pixels> out) const;

 private:
  random_stream stream_;
  std::vector<detail::digit_glyph> glyphs_;
};

/// A data set of drawn digits, examples [first, first + count) of the seed: 1 × 28 × 28 scaled to [0, 1],
/// labels "0" to "9". Never judge accuracy by it.
///
/// Moves     `count` · 785 bytes are kept.
arrays drawn_digits(int count, std::uint64_t seed, std::int64_t first = 0);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/data/impl/digits.ipp>
#endif
