// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
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

  void add(group const& more) {
    seen_.push_back(more);
    positive_ += more.positive;
    negative_ += more.negative;
    if (seen_.size() < room_) return;
    seen_ = groups();
    room_ = std::max<std::size_t>(4096, 2 * seen_.size());
  }

  /// One a score, the highest first.
  std::vector<group> groups() const {
    std::vector<group> all = seen_;
    std::sort(all.begin(), all.end(), [](group const& a, group const& b) { return a.score > b.score; });
    std::size_t last = 0;
    for (std::size_t i = 1; i < all.size(); ++i)
      if (all[i].score == all[last].score) {
        all[last].positive += all[i].positive;
        all[last].negative += all[i].negative;
      } else {
        all[++last] = all[i];
      }
    all.resize(all.empty() ? 0 : last + 1);
    return all;
  }
  std::int64_t positive() const { return positive_; }
  std::int64_t negative() const { return negative_; }

  /// From (0, 0), above the highest score, to (1, 1).
  std::vector<roc_point> points() const {
    std::vector<roc_point> made;
    if (!has_both()) return made;
    made.push_back({.threshold = std::numeric_limits<double>::infinity()});
    group above;
    for (group const& g : groups()) {
      above.positive += g.positive;
      above.negative += g.negative;
      made.push_back(
          {g.score, number(above.negative) / number(negative_), number(above.positive) / number(positive_)});
    }
    return made;
  }

  /// The area under the curve: the share of pairs of a positive and a negative example in which the positive one has the
  /// higher score, a tie counting half (Mann and Whitney, 1947).
  std::optional<double> auc() const {
    if (!has_both()) return std::nullopt;
    double pairs = 0;
    std::int64_t above = 0;
    for (group const& g : groups()) {
      pairs += number(g.negative) * (number(above) + number(g.positive) / 2);
      above += g.positive;
    }
    return pairs / number(positive_) / number(negative_);
  }

  /// Σ precision · increase of recall, from the highest threshold down: the area under precision over recall in steps.
  std::optional<double> average_precision() const {
    if (!has_both()) return std::nullopt;
    double sum = 0;
    group above;
    for (group const& g : groups()) {
      above.positive += g.positive;
      above.negative += g.negative;
      sum += number(g.positive) * (number(above.positive) / number(above.positive + above.negative));
    }
    return sum / number(positive_);
  }

 private:
  static double number(std::int64_t count) { return static_cast<double>(count); }
  bool has_both() const { return positive_ > 0 && negative_ > 0; }

  std::vector<group> seen_;  // equal scores may stand in it more than once
  std::size_t room_ = 4096;
  std::int64_t positive_ = 0;
  std::int64_t negative_ = 0;
};

}  // namespace cohort
