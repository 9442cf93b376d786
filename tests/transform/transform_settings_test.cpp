// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/transform/transform_settings.hpp>

namespace transform_settings_test {

using namespace cohort;
using strings = std::vector<std::string>;

TEST(transform_report, sums_counts_and_limits_problems) {
  transform_report all{.rows = 5, .removed = 1, .skipped = 2, .problems = strings(9, "a")};
  all.add({.rows = 5, .removed = 1, .skipped = 1, .problems = {"b", "c"}});
  EXPECT_EQ(all.rows, 10);
  EXPECT_EQ(all.kept(), 5);
  EXPECT_EQ(all.problems.size(), transform_report::max_problems);
  EXPECT_EQ(all.problems.back(), "b");
  transform_settings const settings;
  EXPECT_EQ(settings.bad, bad_record::stop);
}

}  // namespace transform_settings_test
