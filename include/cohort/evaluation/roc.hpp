// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/hash.hpp>
#include <cohort/evaluation/detail/column_labels.hpp>
#include <cohort/evaluation/detail/optional_mean.hpp>
#include <cohort/evaluation/evaluator.hpp>
#include <cohort/evaluation/roc_curve.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace cohort {

/// Options of roc_report.
///
/// `steps`   0: scores are exact, and each distinct score of a column needs 24 bytes. Otherwise scores
///           must be from 0 to 1 and are rounded down to a multiple of 1/steps, so a column has at most steps
///           + 1 distinct scores.
struct roc_options {
  int steps = 0;
  std::vector<std::string> labels{};  ///< names of the columns, in order; may be empty
};

/// ROC curves: measure, for all thresholds, how well scores separate the examples of a class from all others.
///
/// Shapes    scores N×C: one column of probabilities, or one column per class, against all other classes.
///           targets: N class indices, or N×C values of 0 or 1, of which several may be 1. With one column
///           and indices, class 1 is positive.
/// Errors    shape_error; data_error naming the example; setting_error. The report is unchanged after an
///           error.
/// Exact     see roc_curve: merged shards give the same bits as one report over all data. Means omit columns
///           without a curve; stats prints the number of such columns.
class roc_report final : public evaluator {
 public:
  static constexpr std::int64_t most_examples = std::int64_t{1} << 53;

  explicit roc_report(int columns = 1, roc_options options = {});

  void add(tensor_view scores, tensor_view targets, std::optional<std::int64_t> first = {}) override;

  std::vector<std::byte> to_bytes() const override;
  void merge(std::span<std::byte const> bytes) override;
  void clear() override;

  int columns() const { return static_cast<int>(curves_.size()); }
  std::int64_t examples() const { return examples_; }
  /// Curve of one column.
  roc_curve const& of(int column) const& { return curves_[static_cast<std::size_t>(column)]; }
  roc_curve const& of(int column) const&& = delete;  // keep the report in a variable

  /// Area of one column, or the mean over the columns with a curve.
  std::optional<double> auc(int column) const { return of(column).auc(); }
  std::optional<double> auc() const;
  std::optional<double> average_precision() const;

  /// Human-readable summary.
  std::string stats() const;

 private:
  static constexpr std::uint64_t kind() { return detail::fnv1a("cohort roc 1"); }
  double lowest() const { return steps_ > 0 ? 0 : -std::numeric_limits<double>::max(); }
  double highest() const { return steps_ > 0 ? 1 : std::numeric_limits<double>::max(); }

  template <class Number>
  std::optional<double> mean(Number number) const {
    detail::optional_mean all;
    for (roc_curve const& one : curves_) all.add(number(one));
    return all.value();
  }

  detail::column_labels labels_;
  int steps_;
  std::vector<roc_curve> curves_;
  std::int64_t examples_ = 0;
};

}  // namespace cohort
