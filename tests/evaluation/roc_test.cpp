// SPDX-License-Identifier: Apache-2.0
// covers: evaluation/roc_curve
#include <gtest/gtest.h>

#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/roc.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "../checkpoint/refusals.hpp"

namespace roc_test {

using namespace cohort;
using labels = std::vector<std::int32_t>;

template <class T>
tensor_view rows(std::vector<T> const& values, int columns) {
  return {values.data(), {static_cast<int>(values.size()) / columns, columns}};
}
tensor_view rows(labels const& values) { return {values.data(), {static_cast<int>(values.size())}}; }

roc_report report_of(std::vector<double> const& scores, labels const& truth, int steps = 0) {
  roc_report made(1, {.steps = steps});
  made.add(rows(scores, 1), rows(truth));
  return made;
}

// Numbers from scikit-learn's documentation of roc_curve, roc_auc_score and average_precision_score.
TEST(roc, has_the_curve_and_areas_of_a_known_example) {
  roc_report const report = report_of({0.1, 0.4, 0.35, 0.8}, {0, 0, 1, 1});
  std::vector<roc_point> const points = report.of(0).points();
  std::vector<double> const thresholds{std::numeric_limits<double>::infinity(), 0.8, 0.4, 0.35, 0.1};
  std::vector<double> const false_positive{0, 0, 0.5, 0.5, 1}, true_positive{0, 0.5, 0.5, 1, 1};
  ASSERT_EQ(points.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(points[i].threshold, thresholds[i]);
    EXPECT_EQ(points[i].false_positive_rate, false_positive[i]);
    EXPECT_EQ(points[i].true_positive_rate, true_positive[i]);
  }
  EXPECT_EQ(report.auc(0), 0.75);
  EXPECT_DOUBLE_EQ(*report.average_precision(), 0.5 * 1 + 0.5 * 2 / 3);
}

TEST(roc, treats_equal_scores_as_one_point_in_any_order) {
  roc_report const report = report_of({0.5, 0.5, 0.5, 0.9}, {1, 0, 0, 1});
  EXPECT_EQ(report.of(0).points().size(), 3U);
  EXPECT_EQ(report.auc(0), 0.75) << "two pairs are right, two are ties";
  EXPECT_EQ(report_of({0.9, 0.5, 0.5, 0.5}, {1, 0, 0, 1}).to_bytes(), report.to_bytes());
  EXPECT_EQ(report_of({0.2, 0.2, 0.2}, {1, 0, 1}).auc(0), 0.5);
  EXPECT_EQ(report_of({0.0, -0.0}, {1, 0}).auc(0), 0.5);
  EXPECT_EQ(report_of({0.1, 0.2, 0.8}, {0, 0, 1}).auc(0), 1.0);
  EXPECT_EQ(report_of({0.1, 0.2, 0.8}, {1, 1, 0}).auc(0), 0.0);
}

TEST(roc, has_no_area_without_positive_and_negative_examples) {
  EXPECT_EQ(roc_report().auc(0), std::nullopt);
  EXPECT_EQ(report_of({0.1, 0.9}, {1, 1}).auc(0), std::nullopt);
  EXPECT_EQ(report_of({0.1, 0.9}, {0, 0}).average_precision(), std::nullopt);
  roc_report const one_kind = report_of({0.1, 0.9}, {0, 0});
  EXPECT_TRUE(one_kind.of(0).points().empty());
}

struct examples {
  int columns;
  std::vector<float> scores{};
  labels truth{};
};
examples drawn(std::uint64_t seed, int count, int columns, int different) {
  std::mt19937_64 random(seed);
  examples all{.columns = columns};
  for (int n = 0; n < count; ++n) {
    all.truth.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(std::max(columns, 2))));
    for (int c = 0; c < columns; ++c)
      all.scores.push_back(static_cast<float>(random() % static_cast<unsigned>(different))
                           / static_cast<float>(different));
  }
  return all;
}

/// Compares every pair of a positive and a negative example.
double area_by_pairs(examples const& all, int c) {
  std::int64_t pairs = 0, halves = 0;
  auto const at = [&](std::size_t n) {
    return all.scores[n * static_cast<std::size_t>(all.columns) + static_cast<std::size_t>(c)];
  };
  for (std::size_t p = 0; p < all.truth.size(); ++p)
    for (std::size_t n = 0; n < all.truth.size(); ++n)
      if (all.truth[p] == c && all.truth[n] != c) {
        ++pairs;
        halves += at(p) > at(n) ? 2 : at(p) == at(n) ? 1 : 0;
      }
  return static_cast<double>(halves) / 2 / static_cast<double>(pairs);
}

TEST(roc, agrees_with_pair_counting_for_each_class_against_the_rest) {
  for (int different : {5, 1000}) {
    examples const all = drawn(3, 400, 4, different);
    roc_report report(4);
    report.add(rows(all.scores, 4), rows(all.truth));
    double sum = 0;
    for (int c = 0; c < 4; ++c) {
      EXPECT_NEAR(*report.auc(c), area_by_pairs(all, c), 1e-14);
      sum += *report.auc(c);
    }
    EXPECT_DOUBLE_EQ(*report.auc(), sum / 4);
  }
}

TEST(roc, merges_any_shards_to_bitwise_the_same_report) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    int const columns = 1 + static_cast<int>(seed % 3), count = static_cast<int>(500 * seed);
    roc_options const options{.steps = seed % 2 ? 64 : 0};
    examples const all = drawn(seed, count, columns, seed % 4 ? 7 : 100'000);
    roc_report whole(columns, options), merged(columns, options);
    whole.add(rows(all.scores, columns), rows(all.truth));
    for (int first = 0, part = 0; first < count; first += part) {
      part = std::min(1 + static_cast<int>((seed + 1) * 137), count - first);
      roc_report shard(columns, options);
      shard.add(rows(all.scores, columns).rows(first, part), rows(all.truth).rows(first, part));
      merged.merge(shard.to_bytes());
    }
    EXPECT_EQ(merged.to_bytes(), whole.to_bytes());
    EXPECT_EQ(merged.auc(), whole.auc());
    EXPECT_EQ(merged.average_precision(), whole.average_precision());
    EXPECT_EQ(merged.stats(), whole.stats());
    whole.clear();
    EXPECT_EQ(whole.to_bytes(), roc_report(columns, options).to_bytes());
  }
}

TEST(roc, groups_scores_into_bins_if_steps_are_set) {
  examples const all = drawn(8, 20'000, 1, 1 << 20);
  roc_report exact(1), coarse(1, {.steps = 100});
  for (roc_report* one : {&exact, &coarse}) one->add(rows(all.scores, 1), rows(all.truth));
  EXPECT_GT(exact.of(0).groups().size(), 15'000U);
  EXPECT_LE(coarse.of(0).groups().size(), 101U);
  EXPECT_NEAR(*coarse.auc(0), *exact.auc(0), 0.01);
  EXPECT_LT(coarse.to_bytes().size(), 2000U);
  roc_report const quarters = report_of({0.26, 0.27, 1}, {0, 1, 1}, 4);
  EXPECT_EQ(quarters.of(0).groups()[1].score, 0.25);
  EXPECT_EQ(refusal_of<data_error>([] {
              report_of({0.5, 1.5}, {0, 1}, 10);
            }),
            "cannot evaluate this example (example 1): expected scores from 0 to 1, got 1.5");
}

TEST(roc, accepts_multi_label_targets) {
  std::vector<float> const scores{0.9f, 0.8f, 0.1f, 0.7f, 0.4f, 0.3f}, truth{1, 1, 0, 1, 0, 0};
  roc_report report(2);
  report.add(rows(scores, 2), rows(truth, 2));
  EXPECT_EQ(report.of(0).positive(), 1);
  EXPECT_EQ(report.of(1).positive(), 2);
  EXPECT_EQ(report.auc(0), 1.0);
  EXPECT_EQ(report.auc(1), 1.0);
}

TEST(roc, refuses_invalid_scores_and_targets_and_is_unchanged) {
  roc_report report(2);
  std::vector<float> scores{0.9f, 0.8f, 0.1f, 0.7f};
  report.add(rows(scores, 2), rows(labels{0, 1}));
  auto const before = report.to_bytes();
  EXPECT_EQ(refusal_of<data_error>([&] {
              report.add(rows(scores, 2), rows(labels{0, 2}));
            }),
            "cannot evaluate this example (example 3): expected a label from 0 to 1, got 2");
  EXPECT_EQ(refusal_of<data_error>([&] {
              report.add(rows(scores, 2), rows(std::vector<float>{0, 1, 0.5f, 0}, 2), 40);
            }),
            "cannot evaluate this example (example 41): expected targets of 0 or 1, got 0.5");
  EXPECT_EQ(refusal_of<shape_error>([&] {
              report.add(rows(scores, 1), rows(labels{0, 1, 0, 1}));
            }),
            "cannot evaluate these scores (scores): expected examples x 2, f32 or f64, got 4x1, f32");
  EXPECT_EQ(refusal_of<shape_error>([&] {
              report.add(rows(scores, 2), rows(labels{0, 1, 0}));
            }),
            "cannot evaluate these scores (targets): expected 2 labels, i32, or 2x2 numbers, got 3, i32");
  scores[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(
      refusal_of<data_error>([&] {
        report.add(rows(scores, 2), rows(labels{0, 1}));
      }),
      "cannot evaluate this example (example 3): expected finite scores, got NaN or infinity in column 1");
  EXPECT_EQ(report.to_bytes(), before);
  EXPECT_THROW(roc_report(0), setting_error);
  EXPECT_THROW(roc_report(2, {.steps = -1}), setting_error);
  EXPECT_THROW(roc_report(2, {.labels = {"a"}}), setting_error);
}

TEST(roc, prints_a_readable_report) {
  roc_report report(3, {.labels = {"cat", "dog", "ship"}});
  EXPECT_EQ(report.stats(), "  no examples\n");
  std::vector<float> const scores{0.7f, 0.2f, 0.1f, 0.3f, 0.4f, 0.3f, 0.4f, 0.4f, 0.2f};
  report.add(rows(scores, 3), rows(labels{0, 1, 0}));
  EXPECT_EQ(report.stats(), R"(          positive  negative     AUC  average precision
  0 cat          2         1  1.0000             1.0000
  1 dog          1         2  0.7500             0.5000
  2 ship         0         3       -                  -
  mean                        0.8750             0.7500
  columns without a curve, left out of the means: 1
)");
}

}  // namespace roc_test
