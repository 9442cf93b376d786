// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/plan/bucket.hpp>

#include <vector>

namespace bucket_test {

using namespace cohort;

/// Layers of weights and a bias with these numbers of elements.
std::vector<parameter> layers(std::vector<std::vector<int>> const& sizes) {
  std::vector<parameter> table;
  std::int64_t first = 0;
  for (std::size_t node = 0; node < sizes.size(); ++node)
    for (int elements : sizes[node]) {
      parameter one;
      one.node = static_cast<int>(node);
      one.spec.dims = {elements};
      one.first = first;
      first += elements;
      table.push_back(one);
    }
  return table;
}

void expect_bucket(bucket const& b, int first_parameter, int parameters, std::int64_t first,
                   std::int64_t elements) {
  EXPECT_EQ(b.first_parameter, first_parameter);
  EXPECT_EQ(b.parameters, parameters);
  EXPECT_EQ(b.first, first);
  EXPECT_EQ(b.elements, elements);
}

TEST(bucket, order_begins_with_the_last_layer) {
  auto table = layers({{100, 1}, {200, 2}, {300, 3}});
  auto const buckets = make_buckets(table, 4, 1, 1);
  ASSERT_EQ(buckets.size(), 3U);
  expect_bucket(buckets[0], 4, 2, 303, 303);
  expect_bucket(buckets[1], 2, 2, 101, 202);
  expect_bucket(buckets[2], 0, 2, 0, 101);
  std::vector<int> numbers;
  for (parameter const& p : table) numbers.push_back(p.bucket);
  EXPECT_EQ(numbers, (std::vector<int>{2, 2, 1, 1, 0, 0}));
}

TEST(bucket, ends_at_a_size_bound_that_is_smaller_for_the_first_bucket) {
  auto table = layers({{10}, {10}, {10}, {10}, {10}, {10}, {10}});
  auto const buckets = make_buckets(table, 4, 40, 120);  // 1 layer, then 3 at a time
  ASSERT_EQ(buckets.size(), 3U);
  EXPECT_EQ(buckets[0].parameters, 1);
  EXPECT_EQ(buckets[1].parameters, 3);
  EXPECT_EQ(buckets[2].parameters, 3);
  EXPECT_EQ(make_buckets(table, 4, 41, 120)[0].parameters, 2) << "one byte more needs one layer more";
  EXPECT_EQ(make_buckets(table, 8, 41, 120)[0].parameters, 1) << "elements of 8 bytes fill it sooner";
}

TEST(bucket, shrinks_towards_the_end_down_to_a_bound) {
  auto table = layers({{10}, {10}, {10}, {10}, {40}, {40}, {80}, {80}, {80}, {1}});
  auto const buckets = make_buckets(table, 4, 4, 640, 40);
  std::vector<std::int64_t> sizes;
  for (bucket const& b : buckets) sizes.push_back(b.elements);
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{1, 160, 120, 40, 20, 10, 10}));
  EXPECT_EQ(make_buckets(table, 4, 4, 640, 640).size(), 4U) << "1, 160, 160, 40";
  EXPECT_EQ(make_buckets(table, 4, 4, 320, 40)[1].elements, 80);
}

TEST(bucket, never_splits_a_layer_and_covers_all_elements_once) {
  auto table = layers({{5000, 7}, {3}, {1, 1, 1, 1}, {90'000, 50}, {20}});
  auto const buckets = make_buckets(table, 4);
  std::int64_t end = 95'000 + 7 + 3 + 4 + 50 + 20;
  for (bucket const& b : buckets) {
    EXPECT_EQ(b.first + b.elements, end);
    end = b.first;
  }
  EXPECT_EQ(end, 0);
  for (std::size_t p = 1; p < table.size(); ++p)
    EXPECT_TRUE(table[p].node != table[p - 1].node || table[p].bucket == table[p - 1].bucket);
}

TEST(bucket, excludes_frozen_layers_and_ends_before_them) {
  auto table = layers({{7}, {10, 1}, {20, 2}, {30, 3}, {40, 4}});
  for (std::size_t const p : {0, 3, 4}) table[p].frozen = true;
  auto const buckets = make_buckets(table, 4);
  ASSERT_EQ(buckets.size(), 2U);
  expect_bucket(buckets[0], 5, 4, 40, 77);
  expect_bucket(buckets[1], 1, 2, 7, 11);
  std::vector<int> numbers;
  for (parameter const& p : table) numbers.push_back(p.bucket);
  EXPECT_EQ(numbers, (std::vector<int>{-1, 1, 1, -1, -1, 0, 0, 0, 0}));
}

TEST(bucket, is_not_created_without_parameters) {
  std::vector<parameter> none;
  EXPECT_TRUE(make_buckets(none, 4).empty());
}

}  // namespace bucket_test
