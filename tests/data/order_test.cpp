// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cohort/data/detail/epoch_sequence.hpp>
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

using cohort::block_shuffle;

std::vector<std::int64_t> by_blocks(std::int64_t size, block_shuffle const& blocks, std::uint64_t seed = 1,
                                    std::int64_t epoch = 0, int rank = 0) {
  std::vector<std::int64_t> order;
  cohort::detail::epoch_sequence sequence;
  sequence.start({.seed = seed, .epoch = epoch, .size = size, .rank = rank, .blocks = blocks});
  sequence.copy({0, size}, order);
  return order;
}

TEST(block_shuffle, is_a_permutation_chosen_by_seed_epoch_and_rank) {
  for (std::int64_t size : {1, 2, 99, 100, 101, 1000})
    for (block_shuffle const blocks :
         {block_shuffle{1, 1}, {10, 0}, {10, 30}, {10, 35}, {7, 50}, {100, 5}, {5000, 0}}) {
      auto order = by_blocks(size, blocks);
      EXPECT_EQ(order, by_blocks(size, blocks));
      std::sort(order.begin(), order.end());
      EXPECT_EQ(order, cohort::epoch_order(1, 0, size, false)) << size << ' ' << blocks.block;
    }
  auto const order = by_blocks(1000, {10, 50});
  EXPECT_NE(order, by_blocks(1000, {10, 50}, 2));
  EXPECT_NE(order, by_blocks(1000, {10, 50}, 1, 1));
  EXPECT_NE(order, by_blocks(1000, {10, 50}, 1, 0, 1));
  EXPECT_NE(order, by_blocks(1000, {10, 100}));
}

TEST(block_shuffle, has_fixed_permutations_across_versions) {
  EXPECT_EQ(by_blocks(11, {3, 6}, 123, 4), (std::vector<std::int64_t>{1, 0, 9, 10, 2, 4, 8, 6, 5, 7, 3}));
}

TEST(block_shuffle, reads_each_block_within_the_length_of_a_window) {
  std::int64_t const size = 1003, block = 10, window = 70;
  auto const order = by_blocks(size, {block, window});
  std::map<std::int64_t, std::set<std::int64_t>> places;
  for (std::size_t at = 0; at < order.size(); ++at)
    places[order[at] / block].insert(static_cast<std::int64_t>(at));
  ASSERT_EQ(places.size(), 101u);
  for (auto const& [number, of_block] : places)
    EXPECT_LT(*of_block.rbegin() - *of_block.begin(), window) << number;
  std::int64_t const in_first = order[0] / block;
  EXPECT_GT(*places[in_first].rbegin() - *places[in_first].begin(), block) << "the window is not shuffled";
}

TEST(block_shuffle, places_an_example_in_each_window_equally_often) {
  std::vector<int> seen(10);
  for (int epoch = 0; epoch < 5000; ++epoch) {
    auto const order = by_blocks(40, {2, 4}, 9, epoch);
    auto const at = std::find(order.begin(), order.end(), 17) - order.begin();
    ++seen[static_cast<std::size_t>(at / 4)];
  }
  for (int times : seen) EXPECT_NEAR(times, 500, 100);
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
