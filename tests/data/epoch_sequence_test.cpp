// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cohort/data/detail/epoch_sequence.hpp>
#include <cohort/data/order.hpp>
#include <vector>

namespace epoch_sequence_test {

using cohort::block_shuffle;
using cohort::detail::epoch_sequence;
using cohort::detail::epoch_settings;

std::vector<std::int64_t> part(epoch_sequence& of, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> found{-1};
  of.copy({first, count}, found);
  return found;
}

TEST(epoch_sequence, copies_any_part_of_the_order) {
  std::vector<int> const lengths(103, 3);
  for (epoch_settings const& settings :
       std::vector<epoch_settings>{{.seed = 3, .epoch = 2, .size = 103},
                                   {.seed = 3, .epoch = 2, .size = 103, .shuffle = false},
                                   {.seed = 3, .epoch = 2, .size = 103, .rank = 1, .blocks = {10, 30}},
                                   {.seed = 3, .epoch = 2, .size = 103, .blocks = {1, 1}},
                                   {.seed = 3, .epoch = 2, .size = 103, .blocks = {7, 0}},
                                   {.seed = 3, .epoch = 2, .size = 103, .bucket = 20, .lengths = lengths}}) {
    epoch_sequence whole, parts;
    whole.start(settings);
    parts.start(settings);
    auto const order = part(whole, 0, 103);
    EXPECT_EQ(part(whole, 103, 0), std::vector<std::int64_t>{});
    for (std::int64_t count : {1, 9, 30, 64})
      for (std::int64_t first = 0; first < 103; first += count) {
        std::int64_t const last = std::min<std::int64_t>(first + count, 103);
        EXPECT_EQ(part(parts, first, last - first),
                  std::vector<std::int64_t>(order.begin() + first, order.begin() + last))
            << settings.blocks.block << ' ' << first << ' ' << count;
      }
    for (std::int64_t first : {102, 50, 0})
      EXPECT_EQ(part(parts, first, 1)[0], order[static_cast<std::size_t>(first)]);
  }
}

TEST(epoch_sequence, restarts_with_new_settings) {
  epoch_sequence reused, fresh;
  reused.start({.seed = 1, .size = 50, .blocks = {5, 10}});
  part(reused, 0, 50);
  reused.start({.seed = 1, .epoch = 1, .size = 20});
  fresh.start({.seed = 1, .epoch = 1, .size = 20});
  EXPECT_EQ(part(reused, 0, 20), part(fresh, 0, 20));
  reused.start({.size = 4, .shuffle = false});
  EXPECT_EQ(part(reused, 1, 3), (std::vector<std::int64_t>{1, 2, 3}));
}

}  // namespace epoch_sequence_test
