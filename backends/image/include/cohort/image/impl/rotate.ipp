// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/rotate.hpp>
#include <cohort/tensor/finite.hpp>
#include <cstddef>
#include <numbers>

namespace cohort::detail {

void rotate(std::uint8_t const* from, shape const& dims, double degrees, int fill, std::uint8_t* to) {
  int const height = dims[1], width = dims[2];
  auto const places = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
  double const angle = degrees * std::numbers::pi / 180, cosine = std::cos(angle), sine = std::sin(angle);
  double const middle_y = (height - 1) / 2.0, middle_x = (width - 1) / 2.0;
  auto const floor_of = [](double x) {  // without SSE 4.1, std::floor is a function call
    int const truncated = static_cast<int>(x);
    return truncated - (truncated > x ? 1 : 0);
  };
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x, ++to) {
      double const down = y - middle_y, right = x - middle_x;
      double const row = middle_y + sine * right + cosine * down,
                   column = middle_x + cosine * right - sine * down;
      int const top = floor_of(row), left = floor_of(column);
      double const below = row - top, beside = column - left;
      bool const inside = top >= 0 && left >= 0 && top + 1 < height && left + 1 < width;
      std::uint8_t const* plane = from;
      for (std::size_t c = 0; c < static_cast<std::size_t>(dims[0]); ++c, plane += places) {
        auto const pixel = [&](int py, int px) -> double {
          bool const exists = inside || (py >= 0 && py < height && px >= 0 && px < width);
          return exists ? plane[static_cast<std::ptrdiff_t>(py) * width + px] : fill;
        };
        double const upper = (1 - beside) * pixel(top, left) + beside * pixel(top, left + 1);
        double const lower = (1 - beside) * pixel(top + 1, left) + beside * pixel(top + 1, left + 1);
        to[c * places] = static_cast<std::uint8_t>((1 - below) * upper + below * lower + 0.5);
      }
    }
}

}  // namespace cohort::detail

namespace cohort {

image rotated(image const& from, double degrees, int fill) {
  if (!is_finite(degrees))
    throw setting_error(
        {.what = "invalid rotation", .where = "degrees", .expected = "a finite number", .got = {degrees}});
  if (fill < 0 || fill > 255)
    throw setting_error({.what = "invalid rotation", .where = "fill", .expected = "0 to 255", .got = {fill}});
  image made(from.channels(), from.height(), from.width());
  detail::rotate(from.pixels.data(), from.dims, degrees, fill, made.pixels.data());
  return made;
}

}  // namespace cohort
