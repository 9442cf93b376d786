// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cohort {

/// Examples with this score or more are taken for positive: the shares of the negative and of the positive ones that are.
struct roc_point {
  double threshold = 0;
  double false_positive_rate = 0;
  double true_positive_rate = 0;
};

/// The scores of examples of which some are positive.
///
/// Exact     equal scores are one group: their order does not matter. Whatever follows from the groups is the same bits for
///           any order and any parts; it is empty without a positive or without a negative example.
class roc_curve {
 public:
  /// How many examples had one score.
  struct group {
    double score = 0;
    std::int64_t positive = 0;
    std::int64_t negative = 0;
  };

  void add(group const& more);

  /// One a score, the highest first.
  std::vector<group> groups() const;
  std::int64_t positive() const { return positive_; }
  std::int64_t negative() const { return negative_; }

  /// From (0, 0), above the highest score, to (1, 1).
  std::vector<roc_point> points() const;

  /// The area under the curve: the share of pairs of a positive and a negative example in which the positive one has the
  /// higher score, a tie counting half (Mann and Whitney, 1947).
  std::optional<double> auc() const;

  /// Σ precision · increase of recall, from the highest threshold down: the area under precision over recall in steps.
  std::optional<double> average_precision() const;

 private:
  static double number(std::int64_t count) { return static_cast<double>(count); }
  bool has_both() const { return positive_ > 0 && negative_ > 0; }

  std::vector<group> seen_;  // equal scores may stand in it more than once
  std::size_t room_ = 4096;
  std::int64_t positive_ = 0;
  std::int64_t negative_ = 0;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/evaluation/impl/roc_curve.ipp>
#endif
