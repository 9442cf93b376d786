// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cohort/data/order.hpp>
#include <map>
#include <set>
#include <vector>

namespace order_test {

using cohort::index_slice;

TEST(epoch_order, is_a_permutation_chosen_by_seed_and_epoch) {
  auto const order = cohort::epoch_order(1, 0, 1000);
  auto sorted = order;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, cohort::epoch_order(1, 0, 1000, false));
  EXPECT_NE(order, sorted);
  EXPECT_EQ(order, cohort::epoch_order(1, 0, 1000));
  EXPECT_NE(order, cohort::epoch_order(1, 1, 1000));
  EXPECT_NE(order, cohort::epoch_order(2, 0, 1000));
}

TEST(epoch_order, has_fixed_permutations_across_versions) {
  EXPECT_EQ(cohort::epoch_order(123, 4, 8), (std::vector<std::int64_t>{4, 7, 3, 6, 5, 2, 1, 0}));
}

TEST(epoch_order, draws_each_permutation_of_three_equally_often) {
  std::map<std::vector<std::int64_t>, int> seen;
  for (int epoch = 0; epoch < 6000; ++epoch) ++seen[cohort::epoch_order(5, epoch, 3)];
  ASSERT_EQ(seen.size(), 6u);
  for (auto const& [order, times] : seen) EXPECT_NEAR(times, 1000, 150);
}

TEST(global_batch, splits_a_global_batch_as_evenly_as_possible) {
  for (int ranks : {1, 2, 3, 4, 7})
    for (int batch : {1, 5, 32})
      for (std::int64_t size : {1, 31, 100, 257})
        for (std::int64_t position = 0; position < size; position += ranks * batch) {
          index_slice const whole = cohort::global_batch(size, position, batch, ranks);
          ASSERT_EQ(whole.first, position);
          ASSERT_EQ(whole.count, std::min<std::int64_t>(ranks * batch, size - position));
          std::int64_t next = position;
          std::int64_t least = batch;
          std::int64_t most = 0;
          for (int rank = 0; rank < ranks; ++rank) {
            index_slice const mine = cohort::part_of(whole, rank, ranks);
            ASSERT_EQ(mine.first, next);
            next += mine.count;
            least = std::min(least, mine.count);
            most = std::max(most, mine.count);
          }
          ASSERT_EQ(next, position + whole.count);
          ASSERT_LE(most - least, 1);
          ASSERT_LE(most, batch);
        }
  static_assert(cohort::part_of({10, 7}, 0, 3) == index_slice{10, 3});
  static_assert(cohort::part_of({10, 7}, 2, 3) == index_slice{15, 2});
  static_assert(cohort::part_of({10, 1}, 2, 3) == index_slice{11, 0});
}

TEST(global_batch, contains_the_same_examples_for_any_number_of_ranks) {
  int const global = 24;
  auto const order = cohort::epoch_order(3, 2, 250);
  for (std::int64_t position = 0; position < 250; position += global) {
    std::set<std::set<std::int64_t>> variants;
    for (int ranks : {1, 2, 3, 4, 6, 8}) {
      std::set<std::int64_t> seen;
      for (int rank = 0; rank < ranks; ++rank) {
        index_slice const mine =
            cohort::part_of(cohort::global_batch(250, position, global / ranks, ranks), rank, ranks);
        for (std::int64_t i = 0; i < mine.count; ++i)
          seen.insert(order[static_cast<std::size_t>(mine.first + i)]);
      }
      variants.insert(seen);
    }
    EXPECT_EQ(variants.size(), 1u);
  }
}

}  // namespace order_test
