// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/data/arrays.hpp>
#include <cohort/data/continued_crops.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/data/windows.hpp>

#include <vector>

#include "refused.hpp"

namespace continued_crops_test {

using namespace cohort;

/// First numbers of the examples' first input.
std::vector<float> firsts(dataset const& data) {
  loader batches(data, {.batch = 1, .shuffle = false});
  std::vector<float> made;
  while (batch const* const next = batches.next()) made.push_back(next->input().as<float>()[0]);
  return made;
}

TEST(continued_crops, assign_consecutive_crops_of_a_row_to_consecutive_batches) {
  std::vector<float> const series{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
  dataset const crops = windows(time_series(series, 1), {.length = 2, .stride = 2});
  ASSERT_EQ(crops.size(), 7);
  EXPECT_EQ(firsts(continued_crops(crops, 2)), (std::vector<float>{0, 6, 2, 8, 4, 10}));
  EXPECT_EQ(firsts(continued_crops(crops, 3)), (std::vector<float>{0, 4, 8, 2, 6, 10}));
  EXPECT_EQ(continued_crops(crops, 3).rows_that_continue(), 3);
  EXPECT_EQ(crops.rows_that_continue(), 0);
}

TEST(continued_crops, refuse_more_rows_than_crops) {
  std::vector<float> const series{0, 1, 2, 3, 4, 5};
  dataset const crops = windows(time_series(series, 1), {.length = 2, .stride = 2});
  EXPECT_EQ(refused<setting_error>([&] { continued_crops(crops, 3); }),
            "the crops cannot be divided into rows (continued_crops, rows): expected at least 1 row, and "
            "at least as many crops as rows, got 3 rows for 2 crops");
}

}  // namespace continued_crops_test
