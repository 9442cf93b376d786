// SPDX-License-Identifier: Apache-2.0
// covers: image/image_window
#include <cohort/error/exceptions.hpp>
#include <cohort/image/crop.hpp>
#include <cohort/image/detail/copy_window.hpp>
#include <limits>

#include "../../data/refused.hpp"
#include "image_files.hpp"

namespace crop_test {

using cohort::centre_window;
using cohort::cropped;
using cohort::image;
using cohort::image_window;

static_assert(centre_window(10, 7, 4, 4) == image_window{3, 1, 4, 4});
static_assert(centre_window(3, 2, 5, 5) == image_window{-1, -2, 5, 5});
static_assert(centre_window(4, 4, 4, 4) == image_window{0, 0, 4, 4});

/// Crops pixel by pixel, as an oracle.
image slowly_cropped(image const& from, image_window const& window, bool flip) {
  image to(from.channels(), window.height, window.width);
  for (int c = 0; c < from.channels(); ++c)
    for (int y = 0; y < window.height; ++y)
      for (int x = 0; x < window.width; ++x) {
        int const v = window.top + y;
        int const u = window.left + (flip ? window.width - 1 - x : x);
        bool const inside = v >= 0 && v < from.height() && u >= 0 && u < from.width();
        to.plane(c)[y * window.width + x] = inside ? from.plane(c)[v * from.width() + u] : std::uint8_t{0};
      }
  return to;
}

TEST(crop, copies_any_window_with_zeros_beyond_the_edges) {
  image const from = picture(3, 5, 6);
  for (int top = -8; top <= 7; ++top)
    for (int left = -8; left <= 7; ++left)
      for (int extent : {1, 3, 9})
        for (bool flip : {false, true}) {
          image_window const window{top, left, extent, extent + 1};
          EXPECT_EQ(cropped(from, window, flip), slowly_cropped(from, window, flip))
              << top << ' ' << left << ' ' << extent;
        }
}

TEST(crop, returns_zeros_for_windows_far_outside_of_the_image) {
  image const from = picture(1, 5, 6);
  for (int const far : {std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
    EXPECT_EQ(cropped(from, {far, 0, 2, 6}), image(1, 2, 6));
    EXPECT_EQ(cropped(from, {0, far, 2, 6}), image(1, 2, 6));
  }
}

TEST(crop, flips_left_and_right) {
  image row(1, 1, 3);
  row.pixels = {1, 2, 3};
  EXPECT_EQ(flipped(row).pixels, (std::vector<std::uint8_t>{3, 2, 1}));
  EXPECT_EQ(flipped(flipped(picture(3, 4, 5))), picture(3, 4, 5));
}

TEST(crop, copies_elements_of_any_size_and_overwrites_all_previous_data) {
  std::vector<double> const from = {1.5, 2.5, 3.5, 4.5};
  std::vector<double> to(12, 9.0);
  cohort::detail::copy_window<8>(reinterpret_cast<std::byte const*>(from.data()), {1, 1, 4}, {-1, -1, 2, 6},
                                 true, reinterpret_cast<std::byte*>(to.data()));
  EXPECT_EQ(to, (std::vector<double>{0, 0, 0, 0, 0, 0, 0, 4.5, 3.5, 2.5, 1.5, 0}));
}

TEST(crop, refuses_empty_windows) {
  expect_parts(refused<cohort::shape_error>([] {
                 cropped(image(1, 2, 2), {0, 0, 0, 2});
               }),
               {"at least 1x1, got 0x2"});
}

}  // namespace crop_test
