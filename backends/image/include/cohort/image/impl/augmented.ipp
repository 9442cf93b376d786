// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/image/augmented.hpp>
#include <cohort/random/stream.hpp>

namespace cohort {

COHORT_IMAGE_INLINE augmentation_draw drawn(augmentation const& how, int height, int width,
                                            std::int64_t epoch, std::int64_t index) {
  random_stream const chance(how.seed, "augmentation", static_cast<std::uint64_t>(epoch),
                             static_cast<std::uint64_t>(index));
  augmentation_draw made{centre_window(height, width, how.height, how.width)};
  if (how.place == placing::anywhere) {
    auto const start = [&](std::uint64_t which, int whole, int part) {
      auto const places = static_cast<std::uint64_t>(whole + 2 * how.padding - part + 1);
      return static_cast<int>(chance.below(which, places)) - how.padding;
    };
    made.window.top = start(0, height, how.height);
    made.window.left = start(1, width, how.width);
  }
  made.flip = how.flip && chance.below(2, 2) == 1;
  return made;
}

}  // namespace cohort
