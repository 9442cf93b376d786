// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cohort {

/// Point of a ROC curve: examples with a score of at least `threshold` are predicted as positive. The rates
/// are the fractions of the negative and of the positive examples that are predicted as positive.
struct roc_point {
  double threshold = 0;
  double false_positive_rate = 0;
  double true_positive_rate = 0;
};

/// ROC curve of the scores of positive and negative examples.
///
/// Exact     equal scores form one group, in which the order of examples does not matter. All results are
///           bitwise equal for any order and any split into parts. If there are no positive or no negative
///           examples, all results are empty.
class roc_curve {
 public:
  /// Numbers of examples with the same score.
  struct group {
    double score = 0;
    std::int64_t positive = 0;
    std::int64_t negative = 0;
  };

  /// Adds examples.
  void add(group const& more);

  /// One group per score, the highest score first.
  std::vector<group> groups() const;
  std::int64_t positive() const { return positive_; }
  std::int64_t negative() const { return negative_; }

  /// Points of the curve: (0, 0), with an infinite threshold, then one point per score, up to (1, 1).
  std::vector<roc_point> points() const;

  /// Area under the curve: the fraction of pairs of a positive and a negative example in which the positive
  /// one has the higher score. A tie counts half (Mann and Whitney, 1947).
  std::optional<double> auc() const;

  /// Σ precision · increase of recall, from the highest threshold down: the area under the precision-recall
  /// curve, as a step function.
  std::optional<double> average_precision() const;

 private:
  static double number(std::int64_t count) { return static_cast<double>(count); }
  bool has_both() const { return positive_ > 0 && negative_ > 0; }

  std::vector<group> seen_;  // one score may have several groups
  std::size_t room_ = 4096;
  std::int64_t positive_ = 0;
  std::int64_t negative_ = 0;
};

}  // namespace cohort
