// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/rotate.hpp>
#include <numbers>
#include <vector>

#include "../../data/refused.hpp"
#include "image_files.hpp"

namespace rotate_test {

using namespace cohort;

image small(std::vector<std::uint8_t> pixels, int height, int width) {
  image made(1, height, width);
  made.pixels = std::move(pixels);
  return made;
}

TEST(rotated, turns_counter_clockwise) {
  image const from = small({1, 2, 3, 4, 5, 6, 7, 8, 9}, 3, 3);
  EXPECT_EQ(rotated(from, 90), small({3, 6, 9, 2, 5, 8, 1, 4, 7}, 3, 3));
  EXPECT_EQ(rotated(from, -90), small({7, 4, 1, 8, 5, 2, 9, 6, 3}, 3, 3));
  EXPECT_EQ(rotated(from, 180), small({9, 8, 7, 6, 5, 4, 3, 2, 1}, 3, 3));
  EXPECT_EQ(rotated(from, 360), from);
  EXPECT_EQ(rotated(from, 0), from);
  image const colours = picture(3, 6, 6);
  EXPECT_EQ(rotated(rotated(colours, 90), 90), rotated(colours, 180));
}

TEST(rotated, fills_uncovered_pixels) {
  image const wide = small({10, 20, 30, 40}, 1, 4);
  EXPECT_EQ(rotated(wide, 90, 7), small({7, 16, 16, 7}, 1, 4)) << "half of 25 and half of the fill";
  image const even = rotated(small(std::vector<std::uint8_t>(100, 200), 10, 10), 45, 50);
  EXPECT_EQ(even.pixels[0], 50);
  EXPECT_EQ(even.pixels[55], 200);
}

TEST(rotated, interpolates_bilinearly) {
  image made(1, 41, 41);
  for (int y = 0; y < 41; ++y)
    for (int x = 0; x < 41; ++x) made.plane(0)[y * 41 + x] = static_cast<std::uint8_t>(40 + 3 * x + y);
  double const angle = 30 * std::numbers::pi / 180;
  image const turned = rotated(made, 30);
  for (int y = 12; y < 29; ++y)
    for (int x = 12; x < 29; ++x) {  // a plane is interpolated without error
      double const right = x - 20, down = y - 20;
      double const column = 20 + std::cos(angle) * right - std::sin(angle) * down,
                   row = 20 + std::sin(angle) * right + std::cos(angle) * down;
      EXPECT_NEAR(turned.plane(0)[y * 41 + x], 40 + 3 * column + row, 0.5001);
    }
}

TEST(rotated, refuses_invalid_settings) {
  image const from = picture(3, 4, 4);
  EXPECT_EQ(refused<setting_error>([&] { rotated(from, std::nan("")); }),
            "invalid rotation (degrees): expected a finite number, got nan");
  EXPECT_EQ(refused<setting_error>([&] { rotated(from, 5, 256); }),
            "invalid rotation (fill): expected 0 to 255, got 256");
  EXPECT_EQ(refused<setting_error>([&] { rotated(from, 5, -1); }),
            "invalid rotation (fill): expected 0 to 255, got -1");
}

}  // namespace rotate_test
