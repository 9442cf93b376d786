// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/hash.hpp>
#include <cohort/evaluation/detail/column_labels.hpp>
#include <cohort/evaluation/detail/compensated_sum.hpp>
#include <cohort/evaluation/detail/paired_moments.hpp>
#include <cohort/evaluation/evaluator.hpp>
#include <cohort/tensor/view.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cohort {

/// Options of a regression_report.
struct regression_options {
  std::vector<std::string> labels{};  ///< names of the columns, in order; may be empty
};

/// Metrics of a regression, per column: the errors of outputs against numeric targets.
///
/// Shapes    outputs and targets N×C (any shape of C elements per example), f32 or f64.
/// Errors    shape_error; data_error naming the example if a number is not finite, or at least 1e150 in
///           magnitude (its square may overflow). The report is unchanged after an error.
/// Exact     sums are compensated and second moments are centred. Merged shards therefore give the metrics of
///           one report over all data up to an error of 1e-12, which is absolute for R² and correlation,
///           otherwise relative. This also holds if the targets are far from 0. Correlations of 0/0 (constant
///           targets or outputs) are empty and excluded from means; stats prints their number.
class regression_report final : public evaluator {
 public:
  explicit regression_report(int columns = 1, regression_options options = {});

  void add(tensor_view outputs, tensor_view targets, std::optional<std::int64_t> first = {}) override;

  std::vector<std::byte> to_bytes() const override;
  void merge(std::span<std::byte const> bytes) override;
  void clear() override { columns_.assign(columns_.size(), {}); }

  int columns() const { return static_cast<int>(columns_.size()); }
  std::int64_t examples() const { return static_cast<std::int64_t>(columns_[0].moments.count); }

  /// Metric of one column; without an argument, the mean over the columns for which the metric is defined.
  std::optional<double> mse(int c) const;
  std::optional<double> mae(int c) const;
  std::optional<double> rmse(int c) const;
  /// 1 − Σ (output − target)² / Σ (target − mean)²: 1 is perfect, 0 is as good as predicting the mean. If all
  /// targets are equal: 1 without errors, otherwise 0, as in scikit-learn.
  std::optional<double> r2(int c) const;
  /// Pearson's correlation of outputs and targets.
  std::optional<double> correlation(int c) const;
  std::optional<double> mse() const { return mean(&regression_report::mse); }
  std::optional<double> mae() const { return mean(&regression_report::mae); }
  std::optional<double> rmse() const { return mean(&regression_report::rmse); }
  std::optional<double> r2() const { return mean(&regression_report::r2); }
  std::optional<double> correlation() const { return mean(&regression_report::correlation); }

  /// Human-readable summary.
  std::string stats() const;

 private:
  struct column {
    detail::compensated_sum absolute{}, squared{};
    detail::paired_moments moments{};  // x: the output, y: the target

    std::optional<double> mean(detail::compensated_sum const& errors) const;
  };
  static constexpr double magnitude_limit = 1e150;
  static constexpr std::uint64_t kind() { return detail::fnv1a("cohort regression 1"); }

  column const& of(int c) const { return columns_[static_cast<std::size_t>(c)]; }
  std::optional<double> mean(std::optional<double> (regression_report::*number)(int) const) const;
  double at(tensor_view const& t, int n, int c) const;
  void check(tensor_view outputs, tensor_view targets) const;

  detail::column_labels labels_;
  std::vector<column> columns_;
};

}  // namespace cohort
