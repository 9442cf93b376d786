// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/colour.hpp>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "../../data/refused.hpp"
#include "image_files.hpp"

namespace colour_test {

using namespace cohort;

TEST(recoloured, agrees_with_torchvisions_formulas) {
  std::ifstream file(COHORT_SOURCE_DIR "/tests/golden/colour.txt");
  ASSERT_TRUE(file);
  int cases = 0;
  for (std::string line, pixels; std::getline(file, line) && std::getline(file, pixels); ++cases) {
    SCOPED_TRACE(line);
    std::istringstream words(line), numbers(pixels);
    std::string what;
    int channels = 0, height = 0, width = 0;
    double by = 0;
    words >> what >> by >> channels >> height >> width;
    image from(channels, height, width);
    for (std::size_t i = 0; i < from.pixels.size(); ++i)
      from.pixels[i] = static_cast<std::uint8_t>(73 * i + i / 7);
    colour_change how;
    (what == "brightness"   ? how.brightness
     : what == "contrast"   ? how.contrast
     : what == "saturation" ? how.saturation
                            : how.hue) = by;
    image const made = recoloured(from, how);
    for (std::size_t i = 0; i < made.pixels.size(); ++i) {
      int wanted = -1;
      ASSERT_TRUE(numbers >> wanted);
      EXPECT_EQ(static_cast<int>(made.pixels[i]), wanted) << i;
    }
  }
  EXPECT_EQ(cases, 13);
}

TEST(recoloured, applies_changes_in_the_given_order) {
  image const from = picture(3, 6, 7);
  colour_change both{.brightness = 1.6, .contrast = 0.4, .saturation = 1.5, .hue = 0.2};
  colour_change brightness, contrast, saturation, hue;
  brightness.brightness = 1.6;
  contrast.contrast = 0.4;
  saturation.saturation = 1.5;
  hue.hue = 0.2;
  both.order = {3, 1, 0, 2};
  image const wanted =
      recoloured(recoloured(recoloured(recoloured(from, hue), contrast), brightness), saturation);
  EXPECT_EQ(recoloured(from, both), wanted);
  both.order = {0, 1, 2, 3};
  EXPECT_NE(recoloured(from, both), wanted);
  EXPECT_EQ(recoloured(from, {}), from);
}

TEST(recoloured, ignores_saturation_and_hue_of_grey_images) {
  image const grey = picture(1, 5, 5);
  EXPECT_EQ(recoloured(grey, {.saturation = 0.1, .hue = 0.3}), grey);
  EXPECT_NE(recoloured(grey, {.contrast = 0.5}), grey);
}

TEST(recoloured, refuses_invalid_changes) {
  image const from = picture(3, 4, 4);
  auto const with = [&](colour_change const& how) {
    return refused<setting_error>([&] { recoloured(from, how); });
  };
  EXPECT_EQ(with({.brightness = -1}), "invalid change of colour (brightness): expected 0 to 1e6, got -1");
  EXPECT_EQ(with({.contrast = std::nan("")}),
            "invalid change of colour (contrast): expected 0 to 1e6, got nan");
  EXPECT_EQ(with({.saturation = 1e7}), "invalid change of colour (saturation): expected 0 to 1e6, got 1e+07");
  EXPECT_EQ(with({.hue = 1.5}), "invalid change of colour (hue): expected -1 to 1 turns, got 1.5");
  EXPECT_EQ(with({.order = {0, 1, 2, 2}}),
            "invalid change of colour (order): expected each of 0, 1, 2, 3 once, got 0, 1, 2, 2");
  EXPECT_EQ(
      refused<shape_error>([] { recoloured(image(2, 3, 3), {.contrast = 0.5}); }),
      "only grey and coloured images have colours to change (recoloured): expected 1 or 3 channels, got 2");
  EXPECT_EQ(recoloured(image(), {.contrast = 0.5}), image());
}

TEST(colour_jitter, draws_factors_from_its_ranges_and_every_order) {
  colour_jitter const how{.brightness = 0.4, .contrast = 2, .saturation = 0, .hue = 0.1};
  std::set<std::array<int, 4>> orders;
  double least[2]{10, 10}, most[2]{-10, -10}, least_hue = 1, most_hue = -1;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    colour_change const made = detail::drawn(how, random_stream(3, "colour", 0, i), 4);
    orders.insert(made.order);
    least[0] = std::min(least[0], made.brightness), most[0] = std::max(most[0], made.brightness);
    least[1] = std::min(least[1], made.contrast), most[1] = std::max(most[1], made.contrast);
    least_hue = std::min(least_hue, made.hue), most_hue = std::max(most_hue, made.hue);
    EXPECT_EQ(made.saturation, 1);
  }
  EXPECT_EQ(orders.size(), 24U);
  EXPECT_NEAR(least[0], 0.6, 0.01);
  EXPECT_NEAR(most[0], 1.4, 0.01);
  EXPECT_NEAR(least[1], 0, 0.02);
  EXPECT_NEAR(most[1], 3, 0.02);
  EXPECT_NEAR(least_hue, -0.1, 0.002);
  EXPECT_NEAR(most_hue, 0.1, 0.002);
}

}  // namespace colour_test
