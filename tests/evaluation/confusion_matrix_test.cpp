// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/confusion_matrix.hpp>
#include <optional>
#include <vector>

namespace confusion_matrix_test {

using cohort::averaging;
using cohort::confusion_matrix;
using cohort::zero_division;

confusion_matrix matrix_of(std::vector<std::vector<int>> const& counts,
                           std::optional<zero_division> undefined = {}) {
  int const classes = static_cast<int>(counts.size());
  confusion_matrix matrix = undefined ? confusion_matrix(classes, *undefined) : confusion_matrix(classes);
  for (int actual = 0; actual < matrix.classes(); ++actual) {
    for (int predicted = 0; predicted < matrix.classes(); ++predicted) {
      for (int i = counts[actual][predicted]; i > 0; --i) matrix.add(actual, predicted);
    }
  }
  return matrix;
}

// rows: true class; 5+3+2 examples; columns: predicted 4+4+2
auto const three = matrix_of({{3, 1, 1}, {1, 2, 0}, {0, 1, 1}});

TEST(confusion_matrix, counts_one_class_against_the_others) {
  auto const c = three.of(0);
  EXPECT_EQ(c.true_positive, 3);
  EXPECT_EQ(c.false_positive, 1);
  EXPECT_EQ(c.false_negative, 2);
  EXPECT_EQ(c.true_negative, 4);
  EXPECT_EQ(three.examples(), 10);
  EXPECT_EQ(three.correct(), 6);
  EXPECT_EQ(three.accuracy(), 0.6);
}

TEST(confusion_matrix, averages_over_classes) {
  // precision 3/4, 2/4, 1/2; recall 3/5, 2/3, 1/2; F1 2/3, 4/7, 1/2
  EXPECT_DOUBLE_EQ(*three.precision(), (0.75 + 0.5 + 0.5) / 3);
  EXPECT_DOUBLE_EQ(*three.precision(averaging::weighted), (5 * 0.75 + 3 * 0.5 + 2 * 0.5) / 10);
  EXPECT_DOUBLE_EQ(*three.recall(), (0.6 + 2.0 / 3 + 0.5) / 3);
  EXPECT_DOUBLE_EQ(*three.recall(averaging::weighted), 0.6) << "the accuracy";
  EXPECT_DOUBLE_EQ(*three.f_beta(), (2.0 / 3 + 4.0 / 7 + 0.5) / 3);
  EXPECT_DOUBLE_EQ(*three.f_beta(averaging::weighted), (5 * 2.0 / 3 + 3 * 4.0 / 7 + 2 * 0.5) / 10);
  EXPECT_DOUBLE_EQ(*three.f_beta(1), 4.0 / 7);
  EXPECT_DOUBLE_EQ(*three.f_beta(1, 2.0), 5 * 0.5 * (2.0 / 3) / (4 * 0.5 + 2.0 / 3));
  EXPECT_DOUBLE_EQ(*three.g_measure(), (std::sqrt(0.45) + std::sqrt(1.0 / 3) + 0.5) / 3);
  for (auto micro : {three.precision(averaging::micro), three.recall(averaging::micro),
                     three.f_beta(averaging::micro, 3.0), three.g_measure(averaging::micro)}) {
    EXPECT_DOUBLE_EQ(*micro, 0.6);
  }
}

TEST(confusion_matrix, computes_the_matthews_correlation_coefficient) {
  // One class against the others: TP·TN − FP·FN and the four sums.
  double const first = (3 * 4 - 1 * 2) / std::sqrt(4.0 * 5 * 5 * 6);
  double const second = (2 * 5 - 2 * 1) / std::sqrt(4.0 * 3 * 7 * 6);
  double const third = (1 * 7 - 1 * 1) / std::sqrt(2.0 * 2 * 8 * 8);
  EXPECT_DOUBLE_EQ(*three.mcc(0), first);
  EXPECT_DOUBLE_EQ(*three.mcc(averaging::macro), (first + second + third) / 3);
  // All classes: (6·10 − (4·5 + 4·3 + 2·2)) / √((100 − 36)(100 − 38)).
  EXPECT_DOUBLE_EQ(*three.mcc(), 24 / std::sqrt(64.0 * 62));
  // Pooled: TP 6, FP 4, FN 4, TN 16.
  EXPECT_DOUBLE_EQ(*three.mcc(averaging::micro), (6 * 16 - 4 * 4) / std::sqrt(10.0 * 10 * 20 * 20));
  auto const two = matrix_of({{6, 2}, {4, 8}});
  EXPECT_DOUBLE_EQ(*two.mcc(), *two.mcc(0)) << "two classes: the same as one against the other";
}

// Class 2 is never predicted; class 3 never occurs; class 4 neither occurs nor is predicted.
std::vector<std::vector<int>> const with_empty_classes{
    {2, 0, 0, 1, 0}, {1, 1, 0, 0, 0}, {0, 3, 0, 0, 0}, {0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}};

/// The means equal those of scikit-learn 1.9: precision_recall_fscore_support(…, zero_division=0).
TEST(confusion_matrix, counts_undefined_ratios_as_0_in_means) {
  auto const m = matrix_of(with_empty_classes);
  EXPECT_DOUBLE_EQ(*m.precision(), (2.0 / 3 + 1.0 / 4 + 0 + 0) / 4);
  EXPECT_DOUBLE_EQ(*m.recall(), (2.0 / 3 + 1.0 / 2 + 0 + 0) / 4);
  EXPECT_DOUBLE_EQ(*m.f_beta(), (4.0 / 6 + 2.0 / 6 + 0 + 0) / 4);
  EXPECT_DOUBLE_EQ(*m.g_measure(), (2.0 / 3 + std::sqrt(1.0 / 8)) / 4);
  EXPECT_DOUBLE_EQ(*m.precision(averaging::weighted), (3 * 2.0 / 3 + 2 * 1.0 / 4 + 3 * 0) / 8);
  EXPECT_DOUBLE_EQ(*m.recall(averaging::weighted), 3.0 / 8) << "the accuracy";
  EXPECT_EQ(m.precision(2), std::nullopt) << "a ratio of 0/0 itself is empty";
}

TEST(confusion_matrix, counts_the_precision_of_unpredicted_classes_as_0_in_means) {
  EXPECT_DOUBLE_EQ(*matrix_of({{90, 0}, {10, 0}}).precision(), 0.45);
  EXPECT_DOUBLE_EQ(*matrix_of({{90, 0}, {10, 0}}).precision(averaging::weighted), 0.81);
  EXPECT_DOUBLE_EQ(*matrix_of({{90, 0}, {10, 0}}, zero_division::leave_out).precision(), 0.9);
}

TEST(confusion_matrix, means_exclude_classes_that_neither_occur_nor_are_predicted) {
  auto const m = matrix_of({{3, 0, 0}, {0, 2, 0}, {0, 0, 0}});
  for (auto const& one : {m.precision(), m.recall(), m.f_beta(), m.g_measure(), m.mcc(averaging::macro)})
    EXPECT_DOUBLE_EQ(*one, 1);
}

TEST(confusion_matrix, excludes_and_counts_undefined_ratios_if_leave_out_is_set) {
  auto const m = matrix_of(with_empty_classes, zero_division::leave_out);
  EXPECT_DOUBLE_EQ(*m.precision(), (2.0 / 3 + 1.0 / 4 + 0) / 3);
  EXPECT_DOUBLE_EQ(*m.recall(), (2.0 / 3 + 1.0 / 2 + 0) / 3);
  EXPECT_DOUBLE_EQ(*m.f_beta(), (4.0 / 6 + 2.0 / 6 + 0 + 0) / 4);
  EXPECT_DOUBLE_EQ(*m.precision(averaging::weighted), (3 * 2.0 / 3 + 2 * 1.0 / 4) / 5);
  for (auto const how : {zero_division::zero, zero_division::leave_out}) {
    auto undefined_classes = [&](auto metric) {
      return matrix_of(with_empty_classes, how).average(averaging::macro, metric).undefined_classes;
    };
    EXPECT_EQ(undefined_classes([](auto const& c) { return c.precision(); }), 1);
    EXPECT_EQ(undefined_classes([](auto const& c) { return c.recall(); }), 1);
    EXPECT_EQ(undefined_classes([](auto const& c) { return c.f_beta(); }), 0);
  }
}

TEST(confusion_matrix, has_no_metrics_without_examples) {
  confusion_matrix const empty(3);
  EXPECT_EQ(empty.accuracy(), std::nullopt);
  EXPECT_EQ(empty.precision(), std::nullopt);
  EXPECT_EQ(empty.recall(averaging::micro), std::nullopt);
  EXPECT_EQ(empty.f_beta(averaging::weighted), std::nullopt);
  EXPECT_EQ(empty.mcc(), std::nullopt);
  EXPECT_EQ(matrix_of({{4, 0}, {2, 0}}).mcc(), std::nullopt) << "always the same prediction";
}

TEST(confusion_matrix, adds_another_matrix) {
  auto sum = matrix_of({{1, 0, 1}, {1, 0, 0}, {0, 0, 1}});
  sum.merge(matrix_of({{2, 1, 0}, {0, 2, 0}, {0, 1, 0}}));
  for (int i = 0; i < 9; ++i) EXPECT_EQ(sum.count(i / 3, i % 3), three.count(i / 3, i % 3));
  EXPECT_EQ(sum.examples(), 10);
  EXPECT_THROW(sum.merge(confusion_matrix(4)), cohort::setting_error);
  EXPECT_EQ(sum.examples(), 10);
}

TEST(confusion_matrix, refuses_an_invalid_number_of_classes) {
  for (int classes : {-1, 0, 1, 100'001})
    EXPECT_THROW(confusion_matrix{classes}, cohort::setting_error) << classes;
}

}  // namespace confusion_matrix_test
