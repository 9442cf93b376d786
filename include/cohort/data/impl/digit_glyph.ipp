// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/data/detail/digit_glyph.hpp>

namespace cohort::detail {

digit_glyph::digit_glyph(char const* strokes) {
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x)
      ink_[static_cast<std::size_t>(y * side + x)] =
          ink_at(strokes, (static_cast<float>(x) + 0.5F) * 10 / side - 0.5F,
                 (static_cast<float>(y) + 0.5F) * 10 / side - 0.5F);
}

float digit_glyph::at(float x, float y) const {
  float const px = x * side - 0.5F;
  float const py = y * side - 0.5F;
  if (!(px >= 0 && py >= 0 && px < side - 1 && py < side - 1)) return 0;
  int const column = static_cast<int>(px);
  int const row = static_cast<int>(py);
  float const right = px - static_cast<float>(column);
  float const down = py - static_cast<float>(row);
  float const* const ink = ink_.data() + row * side + column;
  return (ink[0] * (1 - right) + ink[1] * right) * (1 - down)
         + (ink[side] * (1 - right) + ink[side + 1] * right) * down;
}

float digit_glyph::ink_at(char const* strokes, float x, float y) {
  float nearest = 100;
  char const* from = nullptr;
  for (char const* p = strokes; *p != '\0';) {
    if (*p == ' ') {
      from = nullptr;
      ++p;
      continue;
    }
    if (from != nullptr) nearest = std::min(nearest, distance(from, p, x, y));
    from = p;
    p += 2;
  }
  float const half_width = 0.75F;
  return std::clamp(half_width + 0.5F - nearest, 0.0F, 1.0F);
}

float digit_glyph::distance(char const* from, char const* to, float x, float y) {
  auto const at = [](char c) { return static_cast<float>(c - '0'); };
  float const dx = at(to[0]) - at(from[0]);
  float const dy = at(to[1]) - at(from[1]);
  float const length = dx * dx + dy * dy;
  float const along =
      length > 0 ? std::clamp(((x - at(from[0])) * dx + (y - at(from[1])) * dy) / length, 0.0F, 1.0F) : 0;
  float const ex = x - at(from[0]) - along * dx;
  float const ey = y - at(from[1]) - along * dy;
  return std::sqrt(ex * ex + ey * ey);
}

}  // namespace cohort::detail
