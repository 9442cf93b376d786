// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/binary_counts.hpp>
#include <cohort/evaluation/detail/report_bytes.hpp>
#include <cstdint>
#include <optional>
#include <string>
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

  explicit confusion_matrix(int classes) : classes_(classes) {
    if (classes < 2 || classes > 100'000) {
      throw setting_error({.what = "cannot count predictions",
                           .where = "classes",
                           .expected = "2 to 100000",
                           .got = {classes}});
    }
    counts_.resize(at(classes) * at(classes));
  }

  /// Before: both are classes.
  void add(int actual, int predicted) {
    ++counts_[at(actual) * at(classes_) + at(predicted)];
    ++examples_;
  }

  void merge(confusion_matrix const& other) {
    if (classes_ != other.classes_) {
      throw setting_error({.what = "cannot merge confusion matrices",
                           .where = {},
                           .expected = {classes_, " classes"},
                           .got = {other.classes_}});
    }
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    examples_ += other.examples_;
  }

  /// The counts that are not 0, each behind the number of those that are: at most 20 bytes for each, few for most.
  void write(detail::report_writer& out) const {
    out.natural(static_cast<std::uint64_t>(examples_));
    std::size_t next = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] == 0) continue;
      out.natural(i - next).natural(static_cast<std::uint64_t>(counts_[i]));
      next = i + 1;
    }
  }
  /// Before    nothing was added; the bytes are untrusted.
  /// Errors    data_error, also for more than `most` examples.
  void read(detail::report_reader& in, std::int64_t most) {
    std::int64_t const examples = in.count("examples", 0, most);
    for (std::size_t next = 0; examples_ < examples; ++next) {
      if (next == counts_.size())
        in.refuse("counts", detail::text_of({examples, " examples in all"}), std::to_string(examples_));
      next += in.natural("empty counts", 0, counts_.size() - 1 - next);
      counts_[next] = in.count("count", 1, examples - examples_);
      examples_ += counts_[next];
    }
  }
  void clear() {
    std::fill(counts_.begin(), counts_.end(), 0);
    examples_ = 0;
  }

  int classes() const { return classes_; }
  std::int64_t examples() const { return examples_; }

  /// How many examples of class `actual` were predicted as `predicted`.
  std::int64_t count(int actual, int predicted) const {
    return counts_[at(actual) * at(classes_) + at(predicted)];
  }

  /// One class against the others.
  binary_counts of(int c) const {
    binary_counts result;
    result.true_positive = count(c, c);
    for (int other = 0; other < classes_; ++other) {
      if (other == c) continue;
      result.false_negative += count(c, other);
      result.false_positive += count(other, c);
    }
    result.true_negative = examples_ - result.predicted() - result.false_negative;
    return result;
  }

  std::int64_t correct() const {
    std::int64_t sum = 0;
    for (int c = 0; c < classes_; ++c) sum += count(c, c);
    return sum;
  }

  std::optional<double> accuracy() const {
    if (examples_ == 0) return std::nullopt;
    return static_cast<double>(correct()) / static_cast<double>(examples_);
  }

  std::optional<double> precision(int c) const { return of(c).precision(); }
  std::optional<double> recall(int c) const { return of(c).recall(); }
  std::optional<double> f_beta(int c, double beta = 1) const { return of(c).f_beta(beta); }
  std::optional<double> g_measure(int c) const { return of(c).g_measure(); }
  std::optional<double> mcc(int c) const { return of(c).mcc(); }

  std::optional<double> precision(averaging how = averaging::macro) const {
    return average(how, [](auto const& c) { return c.precision(); }).value;
  }
  std::optional<double> recall(averaging how = averaging::macro) const {
    return average(how, [](auto const& c) { return c.recall(); }).value;
  }
  std::optional<double> f_beta(averaging how = averaging::macro, double beta = 1) const {
    return average(how, [&](auto const& c) { return c.f_beta(beta); }).value;
  }
  std::optional<double> g_measure(averaging how = averaging::macro) const {
    return average(how, [](auto const& c) { return c.g_measure(); }).value;
  }
  std::optional<double> mcc(averaging how) const {
    return average(how, [](auto const& c) { return c.mcc(); }).value;
  }
  /// Over all classes at once: (c·s − Σ pₖtₖ) / √((s² − Σ pₖ²)(s² − Σ tₖ²)) (Gorodkin, 2004).
  std::optional<double> mcc() const {
    double const s = static_cast<double>(examples_);
    double both = 0, predicted = 0, actual = 0;
    for (int k = 0; k < classes_; ++k) {
      binary_counts const c = of(k);
      double const p = static_cast<double>(c.predicted()), t = static_cast<double>(c.actual());
      both += p * t, predicted += p * p, actual += t * t;
    }
    double const whole = std::sqrt((s * s - predicted) * (s * s - actual));
    if (!(whole > 0)) return std::nullopt;
    return (static_cast<double>(correct()) * s - both) / whole;
  }

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
