// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/monitoring/detail/report_curve.hpp>
#include <limits>

namespace report_curve_test {

using namespace cohort::detail;

TEST(report_curve, averages_pairs_of_points_when_it_is_full) {
  report_curve curve("loss");
  for (int i = 0; i < 511; ++i) curve.add(i, 2 * i);
  ASSERT_EQ(curve.points().size(), 511U);
  EXPECT_EQ(curve.points()[510].second, 1020);
  curve.add(511, 1022);
  ASSERT_EQ(curve.points().size(), 256U);
  EXPECT_EQ(curve.points()[0].first, 0.5);
  EXPECT_EQ(curve.points()[255].second, 1021);
  curve.add(512, 0);
  EXPECT_EQ(curve.points().size(), 256U);  // half a point
  curve.add(514, 4);
  ASSERT_EQ(curve.points().size(), 257U);
  EXPECT_EQ(curve.points()[256].first, 513);
  EXPECT_EQ(curve.points()[256].second, 2);
  EXPECT_EQ(curve.last(), 4);
}

TEST(report_curve, omits_numbers_that_are_not_finite) {
  report_curve curve("loss");
  curve.add(1, std::numeric_limits<double>::infinity());
  curve.add(2, std::nan(""));
  EXPECT_TRUE(curve.points().empty());
  EXPECT_TRUE(std::isnan(curve.last()));
}

}  // namespace report_curve_test
