// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/regression.hpp>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "../checkpoint/refusals.hpp"

namespace regression_test {

using namespace cohort;

template <class T>
tensor_view rows(std::vector<T> const& values, int columns) {
  return {values.data(), {static_cast<int>(values.size()) / columns, columns}};
}

// Numbers from scikit-learn's documentation of mean_squared_error, mean_absolute_error and r2_score.
TEST(regression, computes_the_metrics_of_a_known_example) {
  std::vector<double> const outputs{2.5, 0, 2, 8}, targets{3, -0.5, 2, 7};
  regression_report report;
  report.add(rows(outputs, 1), rows(targets, 1));
  EXPECT_EQ(report.mse(0), 0.375);
  EXPECT_EQ(report.mae(0), 0.5);
  EXPECT_DOUBLE_EQ(*report.rmse(0), std::sqrt(0.375));
  EXPECT_DOUBLE_EQ(*report.r2(0), 1 - 1.5 / 29.1875);
  EXPECT_NEAR(*report.r2(0), 0.9486, 1e-4);
}

TEST(regression, averages_over_columns_with_a_defined_value) {
  std::vector<float> const outputs{1, 5, 7, 2, 7, 7, 3, 6, 7}, targets{1, 4, 7, 2, 4, 7, 3, 4, 7};
  regression_report report(3);
  report.add(rows(outputs, 3), rows(targets, 3));
  EXPECT_EQ(report.r2(0), 1);
  EXPECT_EQ(report.r2(1), 0) << "the targets are all the same";
  EXPECT_EQ(report.r2(2), 1) << "the same, without errors";
  EXPECT_DOUBLE_EQ(*report.correlation(0), 1);
  EXPECT_EQ(report.correlation(2), std::nullopt);
  EXPECT_DOUBLE_EQ(*report.r2(), 2.0 / 3);
  EXPECT_EQ(regression_report(2).r2(), std::nullopt);
  EXPECT_DOUBLE_EQ(*report.mse(), (0 + (1.0 + 9 + 4) / 3 + 0) / 3);
  EXPECT_DOUBLE_EQ(*report.mae(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(*report.rmse(), std::sqrt(14.0 / 3) / 3);
  EXPECT_EQ(regression_report(2).mse(), std::nullopt);
}

TEST(regression, has_a_negative_r2_if_predictions_are_worse_than_the_mean) {
  std::vector<double> const outputs{3, 2, 1}, targets{1, 2, 3};
  regression_report report;
  report.add(rows(outputs, 1), rows(targets, 1));
  EXPECT_EQ(report.r2(0), -3);
  EXPECT_DOUBLE_EQ(*report.correlation(0), -1);
}

struct examples {
  std::vector<double> outputs, targets;
};
examples drawn(std::uint64_t seed, int count, double offset) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise;
  examples all;
  for (int n = 0; n < count; ++n) {
    all.targets.push_back(offset + noise(random));
    all.outputs.push_back(all.targets.back() + 0.5 * noise(random));
  }
  return all;
}

/// Computed in two passes in long double.
struct by_hand {
  double mse, mae, r2, correlation;
  explicit by_hand(examples const& all) {
    long double const count = static_cast<long double>(all.targets.size());
    long double x = 0, y = 0, squared = 0, absolute = 0, xx = 0, yy = 0, xy = 0;
    for (std::size_t n = 0; n < all.targets.size(); ++n) {
      long double const error = static_cast<long double>(all.outputs[n]) - all.targets[n];
      x += all.outputs[n] / count, y += all.targets[n] / count;
      squared += error * error, absolute += std::abs(error);
    }
    for (std::size_t n = 0; n < all.targets.size(); ++n) {
      long double const dx = all.outputs[n] - x, dy = all.targets[n] - y;
      xx += dx * dx, yy += dy * dy, xy += dx * dy;
    }
    mse = static_cast<double>(squared / count);
    mae = static_cast<double>(absolute / count);
    r2 = static_cast<double>(1 - squared / yy);
    correlation = static_cast<double>(xy / std::sqrt(xx * yy));
  }
};

TEST(regression, merges_shards_accurately_even_far_from_0) {
  for (double const offset : {0.0, 1e3, -1e8}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      SCOPED_TRACE(std::to_string(offset) + ", seed " + std::to_string(seed));
      int const count = 2 + static_cast<int>(seed) * 3000;
      examples const all = drawn(seed, count, offset);
      by_hand const wanted(all);
      regression_report whole, merged;
      whole.add(rows(all.outputs, 1), rows(all.targets, 1));
      for (int first = 0, part = 0; first < count; first += part) {
        part = std::min(1 + 321 * static_cast<int>(seed), count - first);
        regression_report shard;
        shard.add(rows(all.outputs, 1).rows(first, part / 2), rows(all.targets, 1).rows(first, part / 2));
        shard.add(rows(all.outputs, 1).rows(first + part / 2, part - part / 2),
                  rows(all.targets, 1).rows(first + part / 2, part - part / 2));
        merged.merge(shard.to_bytes());
      }
      EXPECT_EQ(merged.examples(), count);
      for (regression_report const* one : {&whole, &merged}) {
        EXPECT_NEAR(*one->mse(0), wanted.mse, 1e-12);
        EXPECT_NEAR(*one->mae(0), wanted.mae, 1e-12);
        EXPECT_NEAR(*one->r2(0), wanted.r2, 1e-12);
        EXPECT_NEAR(*one->correlation(0), wanted.correlation, 1e-12);
      }
    }
  }
}

TEST(regression, round_trips_bitwise_through_bytes) {
  examples const all = drawn(1, 100, 5);
  regression_report report(2), again(2);
  report.add(rows(all.outputs, 2), rows(all.targets, 2));
  again.merge(regression_report(2).to_bytes());
  again.merge(report.to_bytes());
  EXPECT_EQ(again.to_bytes(), report.to_bytes());
  EXPECT_EQ(again.stats(), report.stats());
  again.clear();
  EXPECT_EQ(again.to_bytes(), regression_report(2).to_bytes());
}

TEST(regression, refuses_invalid_outputs_and_targets_and_is_unchanged) {
  regression_report report(2);
  std::vector<float> numbers{0.5f, 0.25f, 1, 2};
  report.add(rows(numbers, 2), rows(numbers, 2));
  auto const before = report.to_bytes();
  EXPECT_EQ(refusal_of<shape_error>([&] { report.add(rows(numbers, 2), rows(numbers, 4)); }),
            "cannot evaluate these outputs and targets (targets): expected 2x2, f32 or f64, got 1x4, f32");
  std::vector<std::int32_t> const whole(4);
  EXPECT_EQ(refusal_of<shape_error>([&] { report.add(rows(numbers, 2), rows(whole, 2)); }),
            "cannot evaluate these outputs and targets (targets): expected 2x2, f32 or f64, got 2x2, i32");
  EXPECT_EQ(refusal_of<shape_error>([&] { report.add(rows(numbers, 4), rows(numbers, 4)); }),
            "cannot evaluate these outputs and targets (outputs): expected 1x2, f32 or f64, got 1x4, f32");
  std::vector<float> bad = numbers;
  bad[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(
      refusal_of<data_error>([&] {
        report.add(rows(numbers, 2), rows(bad, 2));
      }).find("(example 3): expected finite numbers of magnitude below 1e150, got target nan in column 1"),
      std::string::npos);
  EXPECT_NE(refusal_of<data_error>([&] {
              report.add(rows(std::vector<double>{1, 1e200}, 2), rows(std::vector<double>{1, 1}, 2), 70);
            }).find("(example 70)"),
            std::string::npos);
  EXPECT_EQ(report.to_bytes(), before);
  EXPECT_THROW(regression_report(0), setting_error);
  EXPECT_EQ(refusal_of<setting_error>([] { regression_report(2, {.labels = {"x"}}); }),
            "the number of labels differs from the number of columns (labels): expected 2 names, got 1");
}

TEST(regression, prints_a_readable_report) {
  regression_report report(2, {.labels = {"height", "Größe"}});
  EXPECT_EQ(report.stats(), "  no examples\n");
  std::vector<double> const outputs{2.5, 1, 0, 1, 2, 1, 8, 1}, targets{3, 1, -0.5, 1, 2, 1, 7, 1};
  report.add(rows(outputs, 2), rows(targets, 2));
  EXPECT_EQ(report.stats(), R"(  4 examples
               MSE     MAE    RMSE      R²  correlation
  0 height  0.3750  0.5000  0.6124  0.9486       0.9849
  1 Größe   0.0000  0.0000  0.0000  1.0000            -
  mean      0.1875  0.2500  0.3062  0.9743       0.9849
  columns with 0/0, left out of the means: 1 of correlation
)");
}

}  // namespace regression_test
