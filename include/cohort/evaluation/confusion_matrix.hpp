// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/evaluation/binary_counts.hpp>
#include <cohort/evaluation/detail/report_bytes.hpp>
#include <cstdint>
#include <optional>
#include <vector>

namespace cohort {

/// How the numbers of single classes become one: the mean over classes; of the summed counts; weighted by how
/// often each class occurs.
enum class averaging : std::uint8_t { macro, micro, weighted };

/// How often each class was predicted as each, and all that follows from these counts.
///
/// Units     examples; 8·C² bytes of memory for C classes.
/// Exact     a number that is 0/0 is empty, and its class is left out of macro and weighted means.
class confusion_matrix {
 public:
  static constexpr std::int64_t most_examples = std::int64_t{1} << 53;  ///< see binary_counts

  explicit confusion_matrix(int classes);

  /// Before: both are classes.
  void add(int actual, int predicted);

  void merge(confusion_matrix const& other);

  /// The counts that are not 0, each behind the number of those that are: at most 20 bytes for each, few for most.
  void write(detail::report_writer& out) const;
  /// Before    nothing was added; the bytes are untrusted.
  /// Errors    data_error, also for more than `most` examples.
  void read(detail::report_reader& in, std::int64_t most);
  void clear();

  int classes() const { return classes_; }
  std::int64_t examples() const { return examples_; }

  /// How many examples of class `actual` were predicted as `predicted`.
  std::int64_t count(int actual, int predicted) const;

  /// One class against the others.
  binary_counts of(int c) const;

  std::int64_t correct() const;

  std::optional<double> accuracy() const;

  std::optional<double> precision(int c) const { return of(c).precision(); }
  std::optional<double> recall(int c) const { return of(c).recall(); }
  std::optional<double> f_beta(int c, double beta = 1) const { return of(c).f_beta(beta); }
  std::optional<double> g_measure(int c) const { return of(c).g_measure(); }
  std::optional<double> mcc(int c) const { return of(c).mcc(); }

  std::optional<double> precision(averaging how = averaging::macro) const;
  std::optional<double> recall(averaging how = averaging::macro) const;
  std::optional<double> f_beta(averaging how = averaging::macro, double beta = 1) const;
  std::optional<double> g_measure(averaging how = averaging::macro) const;
  std::optional<double> mcc(averaging how) const;
  /// Over all classes at once: (c·s − Σ pₖtₖ) / √((s² − Σ pₖ²)(s² − Σ tₖ²)) (Gorodkin, 2004).
  std::optional<double> mcc() const;

  struct class_mean {
    std::optional<double> value;
    int left_out = 0;  // classes for which the metric is 0/0
  };
  /// Of any number that `metric` computes from binary_counts.
  template <class Metric>
  class_mean average(averaging how, Metric metric) const {
    binary_counts pooled;
    double sum = 0, weights = 0;
    class_mean result;
    for (int k = 0; k < classes_; ++k) {
      binary_counts const c = of(k);
      pooled += c;
      std::optional<double> const number = metric(c);
      if (!number) {
        ++result.left_out;
        continue;
      }
      double const weight = how == averaging::weighted ? static_cast<double>(c.actual()) : 1;
      sum += weight * *number;
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
  std::vector<std::int64_t> counts_;  // actual × predicted
  std::int64_t examples_ = 0;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/evaluation/impl/confusion_matrix.ipp>
#endif
