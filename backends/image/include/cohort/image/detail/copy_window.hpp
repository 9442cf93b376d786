// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/image/image_window.hpp>
#include <cohort/tensor/shape.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cohort::detail {

/// Copies a window of channels × height × width elements, mirrored if `flip`. Elements beyond the edges are
/// zero bytes.
///
/// Before    `to` has space for channels × window and does not overlap `from`.
template <std::size_t Bytes>
void copy_window(std::byte const* from, shape const& dims, image_window const& window, bool flip,
                 std::byte* to) {
  struct element {
    std::byte bytes[Bytes];
  };
  int const width = dims[2];
  // Range of the window's columns that are inside the image.
  std::int64_t const before = -std::int64_t{window.left};
  int const first = static_cast<int>(std::clamp<std::int64_t>(before, 0, window.width));
  int const last = static_cast<int>(std::clamp<std::int64_t>(before + width, first, window.width));
  auto const bytes = [](int elements) { return static_cast<std::size_t>(elements) * Bytes; };
  for (int channel = 0; channel < dims[0]; ++channel)
    for (std::int64_t y = window.top; y < std::int64_t{window.top} + window.height;
         ++y, to += bytes(window.width)) {
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

}  // namespace cohort::detail
