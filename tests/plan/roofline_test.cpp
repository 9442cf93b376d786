// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/plan/plan_text.hpp>
#include <cohort/plan/roofline.hpp>

#include <string>
#include <vector>

namespace roofline_test {

using namespace cohort;

constexpr machine_peaks peaks{.flops = 100e9, .bytes_per_second = 20e9};

TEST(roofline, divides_the_longer_bound_by_the_measured_time) {
  roofline const computing = roofline_of(peaks, 50e6, 1e6, false, 1e-3);
  EXPECT_DOUBLE_EQ(computing.share, 0.5);
  EXPECT_FALSE(computing.by_memory);
  roofline const moving = roofline_of(peaks, 50e6, 15e6, false, 1e-3);
  EXPECT_DOUBLE_EQ(moving.share, 0.75);
  EXPECT_TRUE(moving.by_memory);
  EXPECT_DOUBLE_EQ(roofline_of(peaks, 50e6, 1e6, true, 1e-3).share, 0.25) << "bf16: twice the flops";
  EXPECT_DOUBLE_EQ(
      roofline_of({.flops = 1e9, .bytes_per_second = 1, .bf16_flops = 5e9}, 1e6, 0, true, 1e-3).share, 0.2);
}

TEST(roofline, is_empty_without_peaks_or_times) {
  EXPECT_EQ(roofline_of({}, 1e6, 1e6, false, 1).share, 0);
  EXPECT_EQ(roofline_of(peaks, 1e6, 1e6, false, 0).share, 0);
}

TEST(roofline, is_printed_as_a_column_of_the_profile_table) {
  std::vector<plan_row> const rows{
      {.step = "a",
       .implementation = "own",
       .output = {1},
       .flops = 50e6,
       .bytes = 1e6,
       .seconds = 4e-3,
       .calls = 4},
      {.step = "b",
       .implementation = "own",
       .output = {1},
       .flops = 1e3,
       .bytes = 15e6,
       .seconds = 1e-3,
       .calls = 1},
      {.step = "c",
       .implementation = "own",
       .output = {1},
       .flops = 1e3,
       .bytes = 40e6,
       .seconds = 1e-3,
       .calls = 1},
      {.step = "d", .implementation = "own", .output = {1}},
  };
  std::string const text = text_of(rows, peaks);
  for (char const* const part : {"roofline", "50 % flops", "75 % bytes", "cache"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(text_of(rows).find("roofline"), std::string::npos);
}

TEST(roofline, divides_peaks_among_workers) {
  machine_peaks const one = peaks.of_one(4);
  EXPECT_DOUBLE_EQ(one.flops, 25e9);
  EXPECT_DOUBLE_EQ(one.bytes_per_second, 5e9);
}

}  // namespace roofline_test
