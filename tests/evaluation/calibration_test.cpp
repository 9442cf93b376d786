// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/calibration.hpp>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "../checkpoint/refusals.hpp"

namespace calibration_test {

using namespace cohort;
using labels = std::vector<std::int32_t>;

template <class T>
tensor_view rows(std::vector<T> const& values, int columns) {
  return {values.data(), {static_cast<int>(values.size()) / columns, columns}};
}
tensor_view rows(labels const& values) { return {values.data(), {static_cast<int>(values.size())}}; }

TEST(calibration, counts_probabilities_in_bins_of_equal_width) {
  calibration_report report(1, 4);
  report.add(rows(std::vector<double>{0, 0.125, 0.25, 0.75, 0.875, 1}, 1), rows(labels{0, 1, 0, 1, 1, 0}));
  std::vector<calibration_bin> const bins = report.bins();
  ASSERT_EQ(bins.size(), 4U);
  EXPECT_EQ(bins[0].examples, 2);
  EXPECT_EQ(bins[0].probability, 0.0625);
  EXPECT_EQ(bins[0].frequency, 0.5);
  EXPECT_EQ(bins[1].examples, 1) << "a bin begins with its lower bound";
  EXPECT_EQ(bins[1].frequency, 0);
  EXPECT_EQ(bins[2].examples, 0);
  EXPECT_EQ(bins[2].probability, std::nullopt);
  EXPECT_EQ(bins[3].examples, 3) << "the last bin has 1 in it";
  EXPECT_EQ(bins[3].lowest, 0.75);
  EXPECT_EQ(bins[3].highest, 1);
  EXPECT_DOUBLE_EQ(*bins[3].probability, 0.875);
  EXPECT_DOUBLE_EQ(*report.expected_error(), (2 * 0.4375 + 0.25 + 3 * (0.875 - 2.0 / 3)) / 6);
  EXPECT_DOUBLE_EQ(*report.largest_error(), 0.4375);
}

TEST(calibration, of_several_classes_covers_the_top_prediction_and_each_class) {
  calibration_report report(3, 2);
  std::vector<float> const scores{0.75f, 0.25f, 0, 0.25f, 0.25f, 0.5f, 0.375f, 0.375f, 0.25f};
  report.add(rows(scores, 3), rows(labels{0, 1, 0}));
  std::vector<calibration_bin> const top = report.bins();
  EXPECT_EQ(top[0].examples, 1);
  EXPECT_EQ(top[0].frequency, 1) << "the first of equals";
  EXPECT_EQ(top[1].examples, 2);
  EXPECT_EQ(top[1].probability, 0.625);
  EXPECT_EQ(top[1].frequency, 0.5);
  std::vector<calibration_bin> const second = report.bins(1);
  EXPECT_EQ(second[0].examples, 3);
  EXPECT_DOUBLE_EQ(*second[0].frequency, 1.0 / 3);
  EXPECT_EQ(second[1].examples, 0);
}

TEST(calibration, has_a_small_error_only_if_frequencies_match_probabilities) {
  std::mt19937_64 random(5);
  std::vector<double> said;
  labels truth;
  for (int n = 0; n < 100'000; ++n) {
    said.push_back(static_cast<double>(random() % 10'000) / 10'000);
    truth.push_back(static_cast<double>(random() % 10'000) / 10'000 < said.back());
  }
  calibration_report honest(1, 20), boasting(1, 20);
  honest.add(rows(said, 1), rows(truth));
  EXPECT_LT(*honest.expected_error(), 0.01);
  for (double& p : said) p = p < 0.5 ? p * p : 1 - (1 - p) * (1 - p);
  boasting.add(rows(said, 1), rows(truth));
  EXPECT_GT(*boasting.expected_error(), 0.1);
}

TEST(calibration, merges_shards_to_the_counts_of_the_whole) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    int const columns = 1 + static_cast<int>(seed % 4), count = 700 * static_cast<int>(seed);
    std::vector<float> scores;
    labels truth;
    for (int n = 0; n < count; ++n) {
      truth.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(std::max(columns, 2))));
      for (int c = 0; c < columns; ++c) scores.push_back(static_cast<float>(random() % 1001) / 1000);
    }
    calibration_report whole(columns), merged(columns);
    whole.add(rows(scores, columns), rows(truth));
    for (int first = 0, part = 0; first < count; first += part) {
      part = std::min(97 + 200 * static_cast<int>(seed), count - first);
      calibration_report shard(columns);
      shard.add(rows(scores, columns).rows(first, part), rows(truth).rows(first, part));
      merged.merge(shard.to_bytes());
    }
    EXPECT_EQ(merged.examples(), count);
    EXPECT_EQ(merged.stats(), whole.stats());
    for (int c = 0; c < columns; ++c) {
      auto const a = merged.bins(c), b = whole.bins(c);
      for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(a[i].examples, b[i].examples);
        EXPECT_EQ(a[i].frequency, b[i].frequency);
        EXPECT_NEAR(a[i].probability.value_or(0), b[i].probability.value_or(0), 1e-12);
      }
    }
    whole.clear();
    EXPECT_EQ(whole.to_bytes(), calibration_report(columns).to_bytes());
  }
}

TEST(calibration, refuses_an_invalid_probability_and_is_unchanged) {
  calibration_report report(1, 3);
  report.add(rows(std::vector<double>{1 + 1e-7}, 1), rows(labels{1}));
  EXPECT_EQ(report.bins()[2].probability, 1);
  auto const before = report.to_bytes();
  EXPECT_NE(refusal_of<data_error>([&] {
              report.add(rows(std::vector<double>{0.5, -0.5}, 1), rows(labels{1, 1}));
            }).find("(example 2): expected scores from 0 to 1"),
            std::string::npos);
  EXPECT_EQ(report.to_bytes(), before);
  EXPECT_EQ(report.examples(), 1);
  EXPECT_THROW(calibration_report(1, 0), setting_error);
  EXPECT_THROW(calibration_report(0), setting_error);
}

TEST(calibration, prints_a_readable_report) {
  calibration_report report(1, 2);
  EXPECT_EQ(report.stats(), "  no examples\n");
  report.add(rows(std::vector<double>{0.75, 0.75, 0.5, 1}, 1), rows(labels{1, 1, 0, 1}));
  EXPECT_EQ(report.stats(), R"(  bin           examples  probability  frequency
  0.00 to 0.50         0            -          -
  0.50 to 1.00         4       0.7500     0.7500

  expected calibration error  0.0000
  maximum calibration error   0.0000
)");
}

}  // namespace calibration_test
