// SPDX-License-Identifier: Apache-2.0
// alone: it replaces operator new
#include <gtest/gtest.h>
#include <cohort/data/arrays.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/image/augmented.hpp>
#include <cohort/image/mixed.hpp>
#include <cstdint>
#include <vector>

#include "../../plan/counted_new.hpp"

namespace view_allocation_test {

using namespace cohort;

TEST(image_views, allocate_nothing_after_the_first_epoch) {
  if (!counts_allocations) GTEST_SKIP() << "the sanitizer has its own operator new";
  std::vector<std::uint8_t> const pixels(20 * 3 * 8 * 8, 100), labels(20, 1);
  augmented images(arrays(pixels, {3, 8, 8}, labels, 2, 1 / 255.0),
                   {.height = 6,
                    .width = 6,
                    .place = placing::anywhere,
                    .flip = true,
                    .rotation = 20,
                    .colour = {.brightness = 0.5, .contrast = 0.5, .saturation = 0.5, .hue = 0.2},
                    .erase = {.probability = 1}});
  loader batches(mixed(std::move(images), {.mixup = 1, .cutmix = 1}), {.batch = 4});
  auto const run_epoch = [&](std::int64_t epoch) {
    batches.start(epoch);
    while (batches.next()) {
    }
  };
  run_epoch(0);
  counting = true;
  run_epoch(1);
  counting = false;
  EXPECT_EQ(allocations, 0);
}

}  // namespace view_allocation_test
