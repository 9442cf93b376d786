// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/detail/build_check.hpp>
#include <cstddef>

namespace cohort::detail {

/// The image of one digit at a high resolution, from which examples are sampled.
class digit_glyph {
 public:
  static constexpr int side = 64;

  /// Draws the strokes, given as in digit_strokes.
  explicit digit_glyph(char const* strokes);

  /// Returns the ink, 0 to 1, at a point of [0, 1)² by bilinear interpolation; 0 outside.
  float at(float x, float y) const;

 private:
  /// Returns the ink, 0 to 1, at (x, y) in the coordinate system of the strokes.
  static float ink_at(char const* strokes, float x, float y);

  /// Returns the distance of (x, y) from a line segment.
  static float distance(char const* from, char const* to, float x, float y);

  std::array<float, static_cast<std::size_t>(side) * side> ink_{};
};

}  // namespace cohort::detail
