// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/image/detail/implementation.hpp>
#include <cohort/tensor/shape.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohort {

/// An image in memory: 3 consecutive planes of bytes (red, green, blue) or 1 (grey).
///
/// Shapes    `dims` is channels × height × width.
struct image {
  shape dims{};
  std::vector<std::uint8_t> pixels{};

  image() = default;
  image(int channels, int height, int width)
      : dims(channels, height, width), pixels(static_cast<std::size_t>(dims.elements())) {}

  int channels() const { return dims[0]; }
  int height() const { return dims[1]; }
  int width() const { return dims[2]; }
  std::size_t plane_bytes() const;
  std::uint8_t* plane(int channel);
  std::uint8_t const* plane(int channel) const;
  bool operator==(image const&) const = default;
};

}  // namespace cohort
