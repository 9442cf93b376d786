// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cstdint>
#include <optional>
#include <string>

namespace cohort {

/// One class against all others: what was predicted as this class (positive) and what was it (true).
///
/// Units     examples, fewer than 2⁵³ of them.
/// Exact     a ratio is empty where it is 0/0: nothing was predicted so, or nothing was so.
struct binary_counts {
  std::int64_t true_positive = 0;
  std::int64_t false_positive = 0;
  std::int64_t false_negative = 0;
  std::int64_t true_negative = 0;

  std::int64_t predicted() const { return true_positive + false_positive; }
  std::int64_t actual() const { return true_positive + false_negative; }

  /// TP / (TP + FP).
  std::optional<double> precision() const { return ratio(number(true_positive), number(predicted())); }

  /// TP / (TP + FN).
  std::optional<double> recall() const { return ratio(number(true_positive), number(actual())); }

  /// (1 + β²)·TP / ((1 + β²)·TP + β²·FN + FP): 0, not empty, for a class that occurs and is never predicted.
  std::optional<double> f_beta(double beta = 1) const {
    if (!(beta > 0 && beta < 1e100)) {
      throw setting_error(
          {.what = "no F-beta", .where = "beta", .expected = "above 0, finite", .got = {beta}});
    }
    double const hits = (1 + beta * beta) * number(true_positive);
    return ratio(hits, hits + beta * beta * number(false_negative) + number(false_positive));
  }

  /// √(precision · recall) (Fowlkes and Mallows, 1983).
  std::optional<double> g_measure() const {
    return ratio(number(true_positive), std::sqrt(number(predicted()) * number(actual())));
  }

  /// (TP·TN − FP·FN) / √((TP+FP)(TP+FN)(TN+FP)(TN+FN)) (Matthews, 1975).
  std::optional<double> mcc() const {
    double const tp = number(true_positive), fp = number(false_positive);
    double const fn = number(false_negative), tn = number(true_negative);
    return ratio(tp * tn - fp * fn, std::sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)));
  }

  binary_counts& operator+=(binary_counts const& other) {
    true_positive += other.true_positive;
    false_positive += other.false_positive;
    false_negative += other.false_negative;
    true_negative += other.true_negative;
    return *this;
  }

 private:
  static double number(std::int64_t count) { return static_cast<double>(count); }
  static std::optional<double> ratio(double part, double whole) {
    return whole > 0 ? std::optional(part / whole) : std::nullopt;
  }
};

}  // namespace cohort
