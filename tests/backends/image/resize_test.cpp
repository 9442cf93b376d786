// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/resize.hpp>
#include <cohort/random/stream.hpp>
#include <cstdint>
#include <fstream>
#include <string>

#include "../../data/refused.hpp"
#include "image_files.hpp"

namespace resize_test {

using cohort::image;
using cohort::resized;
__extension__ using wide = __int128;

image noise(int channels, int height, int width, std::uint64_t seed) {
  image made(channels, height, width);
  cohort::random_stream const chance(seed, "noise");
  for (std::size_t i = 0; i < made.pixels.size(); ++i)
    made.pixels[i] = static_cast<std::uint8_t>(chance.bits(i));
  return made;
}

/// Weight of old position j for new position i, times 2·from·to, for all pairs.
wide weight(std::int64_t i, std::int64_t j, std::int64_t from, std::int64_t to) {
  std::int64_t const distance = (2 * j + 1) * to - (2 * i + 1) * from;
  return std::max<std::int64_t>(0, 2 * std::max(from, to) - std::abs(distance));
}

/// Computes every new pixel from every old one.
image slowly_resized(image const& from, int height, int width) {
  image to(from.channels(), height, width);
  for (int c = 0; c < from.channels(); ++c)
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        wide sum = 0;
        wide total = 0;
        for (int v = 0; v < from.height(); ++v)
          for (int u = 0; u < from.width(); ++u) {
            wide const w = weight(y, v, from.height(), height) * weight(x, u, from.width(), width);
            sum += w * from.plane(c)[v * from.width() + u];
            total += w;
          }
        to.plane(c)[y * width + x] = static_cast<std::uint8_t>((2 * sum + total) / (2 * total));
      }
  return to;
}

TEST(resize, equals_the_exact_mean_for_any_size) {
  cohort::random_stream const chance(3, "sizes");
  for (std::uint64_t round = 0; round < 60; ++round) {
    auto const extent = [&](std::uint64_t which) {
      return 1 + static_cast<int>(chance.below(4 * round + which, 45));
    };
    image const from = noise(1 + 2 * static_cast<int>(round % 2), extent(0), extent(1), round);
    int const height = extent(2);
    int const width = extent(3);
    EXPECT_EQ(resized(from, height, width), slowly_resized(from, height, width))
        << to_string(from.dims) << " to " << height << 'x' << width;
  }
}

double largest_sums(int from, int to) {
  return static_cast<double>(cohort::detail::resize_axis(from, to).largest_sum);
}

TEST(resize, is_exact_if_sums_need_64_or_128_bits) {
  EXPECT_GT(largest_sums(211, 13) * largest_sums(199, 17), 0x1p22);
  image const middle = noise(3, 211, 199, 1);
  EXPECT_EQ(resized(middle, 13, 17), slowly_resized(middle, 13, 17));
  EXPECT_GT(largest_sums(3, 1) * largest_sums(65'536, 1), 0x1p31);
  image const broad = noise(1, 3, 65'536, 2);
  EXPECT_EQ(resized(broad, 1, 1), slowly_resized(broad, 1, 1));
  EXPECT_EQ(resized(broad, 3, 7), slowly_resized(broad, 3, 7));
  // These sums need 128 bits. A column of constant value keeps its value.
  EXPECT_GT(largest_sums(65'536, 1) * largest_sums(3000, 1), 0x1p54);
  image tall(1, 65'536, 3000);
  std::fill(tall.pixels.begin(), tall.pixels.end(), std::uint8_t{201});
  EXPECT_EQ(resized(tall, 1, 1).pixels[0], 201);
}

TEST(resize, rounds_halves_up) {
  image two(1, 1, 2);
  two.pixels = {0, 1};
  EXPECT_EQ(resized(two, 1, 1).pixels[0], 1);
  two.pixels = {254, 255};
  EXPECT_EQ(resized(two, 1, 1).pixels[0], 255);
}

TEST(resize, rounds_correctly_where_floating_point_does_not) {
  int off = 0;
  for (std::int32_t total : {(1 << 22) - 2, (1 << 22) - 4, 3'999'998, 65'534})
    for (std::int32_t pixel = 0; pixel < 255; ++pixel) {
      std::int32_t const half = pixel * total + total / 2;
      for (std::int32_t const sum : {half - 1, half, half + 1}) {
        int const rounded = pixel + (sum >= half ? 1 : 0);
        EXPECT_EQ((cohort::detail::rounded_quotient<std::int32_t, float>(sum, total)), rounded);
        EXPECT_EQ((cohort::detail::rounded_quotient<std::int64_t, double>(sum, total)), rounded);
        off +=
            static_cast<int>(static_cast<float>(sum) / static_cast<float>(total) + 0.5F) != rounded ? 1 : 0;
      }
    }
  EXPECT_GT(off, 100);
}

TEST(resize, interpolates_between_centres_when_enlarging) {
  image two(1, 1, 2);
  two.pixels = {0, 200};
  EXPECT_EQ(resized(two, 1, 4).pixels, (std::vector<std::uint8_t>{0, 50, 150, 200}));
}

TEST(resize, preserves_constant_images_and_images_of_the_same_size) {
  image const from = noise(3, 9, 8, 4);
  EXPECT_EQ(resized(from, 9, 8), from);
  image flat(3, 100, 37);
  std::fill(flat.pixels.begin(), flat.pixels.end(), std::uint8_t{255});
  for (std::uint8_t const pixel : resized(flat, 33, 61).pixels) EXPECT_EQ(pixel, 255);
}

/// Values of PyTorch's interpolate(mode="bilinear", antialias=True) in double, not rounded:
/// tests/golden/resize.py. Cohort's are the same means, rounded, so they differ by at most half a unit and
/// the rounding of double.
TEST(resize, matches_the_antialiased_bilinear_interpolation_of_pytorch) {
  std::ifstream golden(std::string(COHORT_SOURCE_DIR) + "/tests/golden/resize.txt");
  int height = 0;
  int width = 0;
  int new_height = 0;
  int new_width = 0;
  int cases = 0;
  for (; golden >> height >> width >> new_height >> new_width; ++cases) {
    image from(1, height, width);
    for (int i = 0; i < height * width; ++i)
      from.pixels[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i * 73 % 256);
    for (std::uint8_t const pixel : resized(from, new_height, new_width).pixels) {
      double expected = 0;
      ASSERT_TRUE(golden >> expected);
      EXPECT_NEAR(pixel, expected, 0.5 + 1e-9);
    }
  }
  EXPECT_EQ(cases, 5);
}

TEST(resize, refuses_extents_out_of_range) {
  expect_parts(refused<cohort::shape_error>([] { resized(image(1, 2, 3), 0, 5); }),
               {"1 to 65536", "2x3 to 0x5"});
  expect_parts(refused<cohort::shape_error>([] { resized(image(1, 2, 3), 5, 65'537); }), {"to 5x65537"});
}

}  // namespace resize_test
