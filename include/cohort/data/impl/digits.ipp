// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cohort/data/digits.hpp>
#include <memory>

namespace cohort::detail {

/// The strokes of each digit: polylines in a square from (0, 0), upper left, to (9, 9). Each point is two
/// characters, x and y. A blank ends a polyline.
inline constexpr std::array<char const*, 10> digit_strokes = {
    "407173867849291613204040",                 // 0
    "2242404849 2969",                          // 1
    "13205062737519197979",                     // 2
    "1131617275636344 6374777959291816",        // 3
    "60161676 535359",                          // 4
    "7020202424545466777859392918",             // 5
    "6040222417193969777544142416",             // 6
    "10107070737349",                           // 7
    "4020112335544473714040 4425171939597764",  // 8
    "7353341412304071717679493918",             // 9
};

}  // namespace cohort::detail

namespace cohort {

digit_drawer::digit_drawer(std::uint64_t seed) : stream_(seed, "digits") {
  for (char const* strokes : detail::digit_strokes) glyphs_.emplace_back(strokes);
}

int digit_drawer::draw(std::int64_t i, std::span<std::uint8_t, pixels> out) const {
  random_stream const chance = stream_.at(static_cast<std::uint64_t>(i));
  auto between = [&, n = std::uint64_t{1} << 32](float low, float high) mutable {
    return low + (high - low) * chance.uniform01(n++);
  };
  auto const label = static_cast<int>(chance.below(std::uint64_t{1} << 33, 10));
  float const height = between(16, 22);
  float const width = height * between(0.65F, 0.95F);
  float const shear = between(-0.3F, 0.3F);
  float const turn = between(-0.2F, 0.2F);
  float const left = between(-3, 3) + side / 2.0F;
  float const top = between(-3, 3) + side / 2.0F;
  float const ink = between(180, 255);
  float const noise = between(0, 40);

  detail::digit_glyph const& glyph = glyphs_[static_cast<std::size_t>(label)];
  std::uint64_t grains = 0;
  for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
    float const x = static_cast<float>(pixel % side) + 0.5F - left;
    float const y = static_cast<float>(pixel / side) + 0.5F - top;
    float const drawn = glyph.at((x + shear * y) / width + 0.5F, (y + turn * x) / height + 0.5F) * ink;
    if (pixel % 8 == 0) grains = chance.bits(pixel / 8);
    float const grain = (static_cast<float>(grains >> 8 * (pixel % 8) & 0xff) - 127.5F) / 127.5F * noise;
    out[pixel] =
        static_cast<std::uint8_t>(std::clamp(drawn + (grain > 0 || drawn > 0 ? grain : 0), 0.0F, 255.0F));
  }
  return label;
}

arrays synthetic_digits(int count, std::uint64_t seed, std::int64_t first) {
  if (count < 1)
    throw setting_error({.what = "the number of digits is not positive",
                         .where = "synthetic_digits, count",
                         .expected = "at least 1",
                         .got = {count}});
  struct synthetic {
    std::vector<std::uint8_t> images;
    std::vector<std::uint8_t> labels;
  };
  auto const made = std::make_shared<synthetic>();
  made->images.resize(static_cast<std::size_t>(count) * digit_drawer::pixels);
  made->labels.resize(static_cast<std::size_t>(count));
  digit_drawer const drawer(seed);
  for (std::size_t i = 0; i < made->labels.size(); ++i) {
    std::span<std::uint8_t, digit_drawer::pixels> const image(made->images.data() + i * digit_drawer::pixels,
                                                              digit_drawer::pixels);
    made->labels[i] = static_cast<std::uint8_t>(drawer.draw(first + static_cast<std::int64_t>(i), image));
  }
  return arrays(
      {array_view{.name = "input",
                  .values = {made->images.data(), shape(count, 1, digit_drawer::side, digit_drawer::side)},
                  .scale = 1 / 255.0}},
      {array_view{.name = "label",
                  .values = {made->labels.data(), shape(count)},
                  .classes = 10,
                  .label_names = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}}},
      made);
}

}  // namespace cohort
