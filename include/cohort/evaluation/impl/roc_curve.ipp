// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/evaluation/roc_curve.hpp>
#include <limits>

namespace cohort {

void roc_curve::add(group const& more) {
  seen_.push_back(more);
  positive_ += more.positive;
  negative_ += more.negative;
  if (seen_.size() < room_) return;
  seen_ = groups();
  room_ = std::max<std::size_t>(4096, 2 * seen_.size());
}

std::vector<roc_curve::group> roc_curve::groups() const {
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

std::vector<roc_point> roc_curve::points() const {
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

std::optional<double> roc_curve::auc() const {
  if (!has_both()) return std::nullopt;
  double pairs = 0;
  std::int64_t above = 0;
  for (group const& g : groups()) {
    pairs += number(g.negative) * (number(above) + number(g.positive) / 2);
    above += g.positive;
  }
  return pairs / number(positive_) / number(negative_);
}

std::optional<double> roc_curve::average_precision() const {
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

}  // namespace cohort
