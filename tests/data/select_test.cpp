// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/select.hpp>

#include "view_cases.hpp"

namespace select_test {

using namespace view_cases;

TEST(select, returns_examples_in_the_given_order) {
  for (bool const in_memory : {true, false}) {
    content const got = read(select(in_memory ? numbers(9) : weighted(9), {7, 2, 2, 0}));
    EXPECT_EQ(got.first, (values{7, 2, 2, 0}));
    EXPECT_EQ(got.labels, (std::vector<std::int32_t>{1, 2, 2, 0}));
  }
}

TEST(select, keeps_weights_and_keys) {
  content const got = read(select(weighted(9), {7, 2}));
  EXPECT_EQ(got.weights, (values{8, 3}));
  EXPECT_EQ(got.keys, (std::vector<std::string>{"k7", "k2"}));
}

TEST(select, returns_a_contiguous_range) {
  EXPECT_EQ(read(select(numbers(9), 4, 3)).first, (values{4, 5, 6}));
  EXPECT_EQ(select(numbers(9), 9, 0).size(), 0);
}

TEST(select, of_a_selection_reads_the_original_data_set) {
  dataset const data = select(select(select(numbers(20), 5, 10), {9, 0, 3}), {2, 0});
  EXPECT_EQ(read(data).first, (values{8, 14}));
  EXPECT_EQ(read(select(data, {1})).first, (values{14}));
}

TEST(select, reads_selections_of_data_in_memory) {
  EXPECT_TRUE(select(numbers(9), 1, 3).model().in_memory());
  EXPECT_FALSE(select(weighted(9), 1, 3).model().in_memory());
  indices many(1000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<std::int64_t>(i * 7 % 300);
  loader batches(select(numbers(300), many), {.batch = 1000, .seed = 4});
  batch const* const b = batches.next();
  for (std::size_t row = 0; row < 1000; ++row)
    EXPECT_EQ(b->input().as<float>()[2 * row], static_cast<float>(b->indices[row] * 7 % 300));
}

TEST(select, refuses_indices_out_of_range) {
  expect_parts(refused<setting_error>([] {
                 select(numbers(9), {0, 9});
               }),
               {"select, index 1", "0 to 8", "got 9"});
  expect_parts(refused<setting_error>([] { select(numbers(9), {-1}); }), {"select, index 0", "got -1"});
  expect_parts(refused<setting_error>([] { select(numbers(9), 4, 6); }),
               {"within 0 to 9", "6 examples from 4"});
  EXPECT_THROW(select(numbers(9), 4, -1), setting_error);
  EXPECT_THROW(select(numbers(9), -1, 2), setting_error);
  EXPECT_THROW(select(numbers(9), INT64_MAX, INT64_MAX), setting_error);
}

TEST(shuffled, is_a_permutation_that_depends_on_the_seed) {
  values const one = read(shuffled(numbers(50), 1)).first;
  EXPECT_EQ(one, read(shuffled(numbers(50), 1)).first);
  EXPECT_NE(one, read(shuffled(numbers(50), 2)).first);
  values sorted = one;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_NE(one, sorted);
  EXPECT_EQ(sorted, read(numbers(50)).first);
}

TEST(select, refuses_streams) {
  expect_stream_is_refused("select", [](dataset const& data) { select(data, {0}); });
  expect_stream_is_refused("select", [](dataset const& data) { select(data, 0, 1); });
  expect_stream_is_refused("shuffled", [](dataset const& data) { shuffled(data, 1); });
}

}  // namespace select_test
