// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/image/image.hpp>
#include <cohort/tensor/shape.hpp>
#include <cstddef>
#include <cstring>

namespace cohort {

/// A part of an image: may reach beyond its edges.
struct image_window {
  int top = 0;
  int left = 0;
  int height = 0;
  int width = 0;
  bool operator==(image_window const&) const = default;
};

/// The window in the middle; an odd rest is below and on the right.
constexpr image_window centre_window(int height, int width, int window_height, int window_width) {
  auto const before = [](int whole, int part) {
    return (whole - part) / 2 - ((whole - part) % 2 < 0 ? 1 : 0);
  };
  return {before(height, window_height), before(width, window_width), window_height, window_width};
}

namespace detail {

/// Copies a window of channels × height × width elements, with left and right exchanged if wanted; zeros (bytes) beyond
/// the edges.  Before: `to` has room for channels × window; it is not `from`.
template <std::size_t Bytes>
void copy_window(std::byte const* from, shape const& dims, image_window const& window, bool flip,
                 std::byte* to) {
  struct element {
    std::byte bytes[Bytes];
  };
  int const width = dims[2];
  int const first = std::clamp(-window.left, 0, window.width);  // of the window's columns inside the image
  int const last = std::clamp(width - window.left, first, window.width);  // one behind its last
  auto const bytes = [](int elements) { return static_cast<std::size_t>(elements) * Bytes; };
  for (int channel = 0; channel < dims[0]; ++channel)
    for (int y = window.top; y < window.top + window.height; ++y, to += bytes(window.width)) {
      if (y < 0 || y >= dims[1] || first == last) {
        std::memset(to, 0, bytes(window.width));
        continue;
      }
      std::byte const* const row = from
                                   + (static_cast<std::size_t>(channel) * static_cast<std::size_t>(dims[1])
                                      + static_cast<std::size_t>(y))
                                         * bytes(width);
      std::memset(to, 0, bytes(first));
      std::memcpy(to + bytes(first), row + bytes(window.left + first), bytes(last - first));
      std::memset(to + bytes(last), 0, bytes(window.width - last));
      if (flip) {
        auto* const elements = reinterpret_cast<element*>(to);
        std::reverse(elements, elements + window.width);
      }
    }
}

}  // namespace detail

/// The part of the image under a window; zeros where that reaches beyond the edges.
///
/// Shapes    channels × window.height × window.width.
/// Errors    shape_error for a window without an area.
image cropped(image const& from, image_window const& window, bool flip = false);

/// Left and right exchanged.
image flipped(image const& from);

}  // namespace cohort

#ifndef COHORT_IMAGE_COMPILED
#include <cohort/image/impl/crop.ipp>
#endif
