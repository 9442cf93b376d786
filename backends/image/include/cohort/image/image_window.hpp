// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/image/detail/implementation.hpp>

namespace cohort {

/// A window of an image; may extend beyond the image's edges.
struct image_window {
  int top = 0;
  int left = 0;
  int height = 0;
  int width = 0;
  bool operator==(image_window const&) const = default;
};

/// Returns a centred window. If the extents differ by an odd number, the margin at the bottom or on the right
/// is one pixel larger than the opposite margin.
constexpr image_window centre_window(int height, int width, int window_height, int window_width) {
  auto const before = [](int whole, int part) {
    return (whole - part) / 2 - ((whole - part) % 2 < 0 ? 1 : 0);
  };
  return {before(height, window_height), before(width, window_width), window_height, window_width};
}

}  // namespace cohort
