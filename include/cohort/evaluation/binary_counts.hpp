// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstdint>
#include <optional>

namespace cohort {

/// Counts of one class against all others. Positive means predicted as this class; true, predicted correctly.
///
/// Units     examples, fewer than 2⁵³.
/// Exact     a ratio of 0/0 is empty: no example was predicted as the class, or no example belongs to it.
struct binary_counts {
  std::int64_t true_positive = 0;
  std::int64_t false_positive = 0;
  std::int64_t false_negative = 0;
  std::int64_t true_negative = 0;

  /// Number of examples predicted as this class.
  std::int64_t predicted() const { return true_positive + false_positive; }
  /// Number of examples of this class.
  std::int64_t actual() const { return true_positive + false_negative; }

  /// TP / (TP + FP).
  std::optional<double> precision() const;

  /// TP / (TP + FN).
  std::optional<double> recall() const;

  /// (1 + β²)·TP / ((1 + β²)·TP + β²·FN + FP). If the class occurs but is never predicted, 0, not empty.
  /// Errors    setting_error unless 0 < β < 1e100.
  std::optional<double> f_beta(double beta = 1) const;

  /// √(precision · recall) (Fowlkes and Mallows, 1983).
  std::optional<double> g_measure() const;

  /// (TP·TN − FP·FN) / √((TP+FP)(TP+FN)(TN+FP)(TN+FN)) (Matthews, 1975).
  std::optional<double> mcc() const;

  binary_counts& operator+=(binary_counts const& other);

 private:
  static double number(std::int64_t count) { return static_cast<double>(count); }
  static std::optional<double> ratio(double part, double whole);
};

}  // namespace cohort
