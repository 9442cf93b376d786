// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/evaluation/binary_counts.hpp>
#include <cohort/evaluation/detail/report_bytes.hpp>
#include <cstdint>
#include <optional>
#include <vector>

namespace cohort {

/// Average of a metric over classes. macro: the mean over classes. micro: the metric of the summed counts.
/// weighted: the mean weighted by how often each class occurs.
enum class averaging : std::uint8_t { macro, micro, weighted };

/// Treatment, in macro and weighted means, of a class whose metric is 0/0, for example the precision of a
/// class that is never predicted. zero: the metric counts as 0 (scikit-learn's zero_division=0). leave_out:
/// the class is not in the mean.
enum class zero_division : std::uint8_t { zero, leave_out };

/// Number of examples of each class that were predicted as each class, and the metrics that follow from these
/// counts.
///
/// Units     examples; 8·C² bytes of memory for C classes.
/// Exact     a value of 0/0 is empty; for means see zero_division. Means omit a class that neither occurs nor
///           was predicted, as in scikit-learn.
class confusion_matrix {
 public:
  static constexpr std::int64_t most_examples = std::int64_t{1} << 53;  ///< see binary_counts

  /// Errors    setting_error unless 2 ≤ `classes` ≤ 100000.
  explicit confusion_matrix(int classes, zero_division undefined = zero_division::zero);

  /// Counts one example.  Before: both are valid classes.
  void add(int actual, int predicted);

  /// Adds the counts of another matrix.  Errors: setting_error if the numbers of classes differ.
  void merge(confusion_matrix const& other);

  /// Writes the nonzero counts, each after the number of zero counts that precede it. A count takes at most
  /// 20 bytes, usually few.
  void write(detail::report_writer& out) const;
  /// Reads counts that `write` has written.
  /// Before    the matrix is empty; the bytes are untrusted.
  /// Errors    data_error, also for more than `most` examples.
  void read(detail::report_reader& in, std::int64_t most);
  void clear();

  /// Number of classes, and of examples.
  int classes() const { return classes_; }
  std::int64_t examples() const { return examples_; }

  /// Number of examples of class `actual` that were predicted as `predicted`.
  std::int64_t count(int actual, int predicted) const;

  /// Counts of one class against the others.
  binary_counts of(int c) const;

  /// Number of examples that were predicted correctly.
  std::int64_t correct() const;

  /// Fraction of examples that were predicted correctly.
  std::optional<double> accuracy() const;

  /// Metric of class c against the others.
  std::optional<double> precision(int c) const { return of(c).precision(); }
  std::optional<double> recall(int c) const { return of(c).recall(); }
  std::optional<double> f_beta(int c, double beta = 1) const { return of(c).f_beta(beta); }
  std::optional<double> g_measure(int c) const { return of(c).g_measure(); }
  std::optional<double> mcc(int c) const { return of(c).mcc(); }

  /// Metric of all classes; macro: the mean over the classes that occur or were predicted.
  std::optional<double> precision(averaging how = averaging::macro) const;
  std::optional<double> recall(averaging how = averaging::macro) const;
  std::optional<double> f_beta(averaging how = averaging::macro, double beta = 1) const;
  std::optional<double> g_measure(averaging how = averaging::macro) const;
  std::optional<double> mcc(averaging how) const;
  /// Multiclass MCC: (c·s − Σ pₖtₖ) / √((s² − Σ pₖ²)(s² − Σ tₖ²)) for s examples, c of them correct; class k
  /// was predicted pₖ times and occurs tₖ times (Gorodkin, 2004).
  std::optional<double> mcc() const;

  struct class_mean {
    std::optional<double> value;
    int undefined_classes = 0;  // classes that occur or were predicted, and for which the metric is 0/0
  };
  /// Average of any value that `metric` computes from binary_counts.
  template <class Metric>
  class_mean average(averaging how, Metric metric) const {
    binary_counts pooled;
    double sum = 0, weights = 0;
    class_mean result;
    for (int k = 0; k < classes_; ++k) {
      binary_counts const c = of(k);
      pooled += c;
      if (c.actual() == 0 && c.predicted() == 0) continue;
      std::optional<double> const number = metric(c);
      if (!number) {
        ++result.undefined_classes;
        if (undefined_ == zero_division::leave_out) continue;
      }
      double const weight = how == averaging::weighted ? static_cast<double>(c.actual()) : 1;
      sum += weight * number.value_or(0);
      weights += weight;
    }
    if (how == averaging::micro) {
      result = {metric(pooled), 0};
    } else if (weights > 0) {
      result.value = sum / weights;
    }
    return result;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  int classes_;
  zero_division undefined_;
  std::vector<std::int64_t> counts_;  // actual × predicted
  std::int64_t examples_ = 0;
};

}  // namespace cohort
