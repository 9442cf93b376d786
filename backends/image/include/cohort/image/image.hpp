// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tensor/shape.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohort {

/// An image in memory: 3 (red, green, blue) or 1 (grey) planes of bytes, one after another.
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

namespace detail {

/// Grey value of a colour: ITU-R BT.601's luma in 16 fractional bits, as libjpeg computes it.
std::uint8_t luma(unsigned red, unsigned green, unsigned blue);

/// Converts interleaved pixels, `Step` bytes apart, to planes. The first byte of a pixel is grey, or the
/// first three are red, green and blue.
template <int Step>
image planes_of(std::uint8_t const* from, int channels, int height, int width) {
  constexpr bool coloured = Step >= 3;
  image made(channels, height, width);
  std::size_t const n = made.plane_bytes();
  std::uint8_t* const red = made.plane(0);
  if (channels == 1) {
    for (std::size_t i = 0; i < n; ++i, from += Step)
      red[i] = coloured ? luma(from[0], from[1], from[2]) : *from;
    return made;
  }
  std::uint8_t* const green = made.plane(1);
  std::uint8_t* const blue = made.plane(2);
  for (std::size_t i = 0; i < n; ++i, from += Step) {
    red[i] = from[0];
    green[i] = from[coloured ? 1 : 0];
    blue[i] = from[coloured ? 2 : 0];
  }
  return made;
}

}  // namespace detail
}  // namespace cohort

#ifndef COHORT_IMAGE_COMPILED
#include <cohort/image/impl/image.ipp>
#endif
