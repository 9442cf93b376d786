// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/data/arrays.hpp>
#include <cohort/random/stream.hpp>
#include <cstdint>
#include <memory>
#include <vector>

namespace reference_program {

/// Synthetic images, used if the data set is missing: each class is a pattern of 4 × 4 coloured fields, with
/// noise. Their accuracy has no meaning.
///
/// Order     examples [first, first + count) of the seed; the classes alternate.
inline cohort::arrays synthetic_images(int count, cohort::shape extents, int classes, std::uint64_t seed,
                                       int first = 0) {
  struct synthetic {
    std::vector<std::uint8_t> images;
    std::vector<std::int32_t> labels;
  };
  int const height = extents[1], width = extents[2];
  auto const made = std::make_shared<synthetic>();
  made->images.reserve(static_cast<std::size_t>(count) * static_cast<std::size_t>(extents.elements()));
  cohort::random_stream const patterns(seed, "patterns"), noise(seed, "noise");
  for (int i = first; i < first + count; ++i) {
    int const label = i % classes;
    auto const pattern = patterns.at(static_cast<std::uint64_t>(label));
    auto const grains = noise.at(static_cast<std::uint64_t>(i));
    made->labels.push_back(label);
    for (int element = 0; element < extents.elements(); ++element) {
      int const x = element % width, y = element / width % height, channel = element / width / height;
      int const field = (channel * 4 + 4 * y / height) * 4 + 4 * x / width;
      auto const colour = pattern.below(static_cast<std::uint64_t>(field), 128);
      auto const grain = grains.bits(static_cast<std::uint64_t>(element) / 8) >> element % 8 * 8 & 127;
      made->images.push_back(static_cast<std::uint8_t>(colour + grain));
    }
  }
  return cohort::arrays(
      {cohort::array_view{.name = "input",
                          .values = {made->images.data(), cohort::shape(count, extents[0], height, width)},
                          .scale = 1 / 255.0}},
      {cohort::array_view{
          .name = "label", .values = {made->labels.data(), cohort::shape(count)}, .classes = classes}},
      made);
}

}  // namespace reference_program
