// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/image/image.hpp>
#include <cstddef>
#include <cstdint>

namespace cohort::detail {

/// Returns the grey value of a colour: ITU-R BT.601's luma with 16 fractional bits, as in libjpeg.
constexpr std::uint8_t luma(unsigned red, unsigned green, unsigned blue) {
  return static_cast<std::uint8_t>((19595 * red + 38470 * green + 7471 * blue + 32768) >> 16);
}

/// Returns red, green or blue of a CMYK pixel, without a colour profile, rounded to nearest. `ink`: of cyan,
/// magenta or yellow, 255 is full; `light`: 255 minus the black ink.
constexpr std::uint8_t lit_by(unsigned ink, unsigned light) {
  unsigned const absorbed = ink * light + 128;
  return static_cast<std::uint8_t>(light - (((absorbed >> 8) + absorbed) >> 8));
}

/// Converts interleaved pixels, `Step` bytes apart, to planes. If `Step` is at least 3, a pixel begins with
/// red, green and blue, otherwise with grey.
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

}  // namespace cohort::detail
