// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/hash.hpp>
#include <cohort/evaluation/detail/compensated_sum.hpp>
#include <cohort/evaluation/evaluator.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cohort {

/// Bin of the examples with a probability in [lowest, highest); the last bin includes 1.
struct calibration_bin {
  double lowest = 0;
  double highest = 0;
  std::int64_t examples = 0;
  std::optional<double> probability{};  ///< mean of the predicted probabilities
  std::optional<double> frequency{};    ///< fraction of positive examples
};

/// Calibration of probabilities: of the examples with probability 0.8, 80 % should be positive.
///
/// Shapes    probabilities N×C, from 0 to 1; targets N class indices, or N×C values of 0 or 1. With one
///           column and indices, class 1 is positive.
/// Errors    shape_error; data_error naming the example; setting_error. The report is unchanged after an
///           error.
/// Exact     the counts of merged shards equal those of one report over all data; sums are equal up to a
///           relative error of 1e-12. An empty bin has no means.
/// Source    Guo et al., ICML 2017 (expected calibration error).
class calibration_report final : public evaluator {
 public:
  explicit calibration_report(int columns = 1, int bins = 10);

  void add(tensor_view scores, tensor_view targets, std::optional<std::int64_t> first = {}) override;

  std::vector<std::byte> to_bytes() const override;
  void merge(std::span<std::byte const> bytes) override;
  void clear() override;

  int columns() const { return columns_; }
  std::int64_t examples() const { return examples_; }

  /// Bins by the highest probability of each example; of equal probabilities, the first counts. With one
  /// column, bins by the probabilities of this column.
  std::vector<calibration_bin> bins() const { return bins(columns_ > 1 ? columns_ : 0); }
  /// Bins by the probabilities of one column: the column's class against all others.
  std::vector<calibration_bin> bins(int column) const;

  /// Expected calibration error: the mean of |probability − frequency| over the bins, weighted by the bins'
  /// numbers of examples. Maximum calibration error: the largest |probability − frequency| of a bin. Both are
  /// empty without examples.
  std::optional<double> expected_error() const;
  std::optional<double> largest_error() const;

  /// Human-readable summary.
  std::string stats() const;

 private:
  struct cell {
    std::int64_t examples = 0;
    std::int64_t positive = 0;
    detail::compensated_sum probability_sum{};

    void add(cell const& part);
  };
  static constexpr std::uint64_t kind() { return detail::fnv1a("cohort calibration 1"); }
  static double error(calibration_bin const& one);

  void count(std::size_t row, double probability, bool positive);

  int columns_;
  int bins_;
  std::vector<cell> cells_;  // rows × bins: a row per column, then one for the highest probability
  std::int64_t examples_ = 0;
};

}  // namespace cohort
