// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/binary_counts.hpp>
#include <limits>
#include <optional>

namespace binary_counts_test {

using cohort::binary_counts;

TEST(binary_counts, computes_precision_recall_and_derived_metrics) {
  // 8 examples are predicted as positive, 6 of them correctly; 10 examples are positive; 18 examples are true
  // negatives.
  binary_counts const c{.true_positive = 6, .false_positive = 2, .false_negative = 4, .true_negative = 18};
  EXPECT_EQ(c.precision(), 0.75);
  EXPECT_EQ(c.recall(), 0.6);
  EXPECT_DOUBLE_EQ(*c.f_beta(), 2 * 0.75 * 0.6 / (0.75 + 0.6));
  EXPECT_DOUBLE_EQ(*c.f_beta(2), 5 * 0.75 * 0.6 / (4 * 0.75 + 0.6));
  EXPECT_DOUBLE_EQ(*c.f_beta(0.5), 1.25 * 0.75 * 0.6 / (0.25 * 0.75 + 0.6));
  EXPECT_DOUBLE_EQ(*c.g_measure(), std::sqrt(0.45));
  EXPECT_DOUBLE_EQ(*c.mcc(), 100 / std::sqrt(8.0 * 10 * 20 * 22));
}

TEST(binary_counts, has_no_value_for_zero_divided_by_zero) {
  binary_counts const never_predicted{.false_negative = 4, .true_negative = 6};
  EXPECT_EQ(never_predicted.precision(), std::nullopt);
  EXPECT_EQ(never_predicted.recall(), 0.0);
  EXPECT_EQ(never_predicted.f_beta(), 0.0);
  EXPECT_EQ(never_predicted.g_measure(), std::nullopt);
  EXPECT_EQ(never_predicted.mcc(), std::nullopt);
  binary_counts const never_there{.false_positive = 4, .true_negative = 6};
  EXPECT_EQ(never_there.precision(), 0.0);
  EXPECT_EQ(never_there.recall(), std::nullopt);
  EXPECT_EQ(never_there.f_beta(), 0.0);
  EXPECT_EQ(binary_counts{}.f_beta(), std::nullopt);
}

TEST(binary_counts, does_not_overflow_with_large_counts) {
  std::int64_t const many = std::int64_t{1} << 52;
  binary_counts const c{many, many, many, many};
  EXPECT_EQ(c.mcc(), 0.0);
  EXPECT_EQ(c.g_measure(), 0.5);
  EXPECT_EQ(c.f_beta(), 0.5);
}

TEST(binary_counts, refuses_an_invalid_beta) {
  for (double beta :
       {0.0, -1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW((void)binary_counts{}.f_beta(beta), cohort::setting_error) << beta;
  }
}

}  // namespace binary_counts_test
