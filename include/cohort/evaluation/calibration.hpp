// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/evaluation/detail/compensated_sum.hpp>
#include <cohort/evaluation/evaluator.hpp>
#include <cohort/random/hash.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cohort {

/// Examples whose probability lies in [lowest, highest), or up to 1 in the last bin.
struct calibration_bin {
  double lowest = 0;
  double highest = 0;
  std::int64_t examples = 0;
  std::optional<double> probability{};  ///< mean of what was said
  std::optional<double> frequency{};    ///< share of examples that were so
};

/// Whether probabilities mean what they say: of the examples to which 0.8 was given, 80 % should be so.
///
/// Shapes    probabilities N×C, from 0 to 1; targets N class indices, or N×C numbers 0 or 1. One column and indices: its
///           class is 1.
/// Errors    shape_error; data_error naming the example; setting_error. The report is then as it was before.
/// Exact     merged shards have the counts of one report, and its sums to 1e-12. An empty bin has no means.
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

  /// Of the column of the highest probability, the first of equals; with one column, of it.
  std::vector<calibration_bin> bins() const { return bins(columns_ > 1 ? columns_ : 0); }
  /// Of one column, that class against all others.
  std::vector<calibration_bin> bins(int column) const;

  /// The mean over the examples of |probability − frequency| of their bin, and the largest of any bin.
  std::optional<double> expected_error() const;
  std::optional<double> largest_error() const;

  /// For people.
  std::string stats() const;

 private:
  struct cell {
    std::int64_t examples = 0;
    std::int64_t positive = 0;
    detail::compensated_sum said{};

    void add(cell const& part);
  };
  static constexpr std::uint64_t kind() { return fnv1a("cohort calibration 1"); }
  static double error(calibration_bin const& one);

  void count(std::size_t row, double probability, bool positive);

  int columns_;
  int bins_;
  std::vector<cell> cells_;  // columns, then the column of the highest probability × bins
  std::int64_t examples_ = 0;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/evaluation/impl/calibration.ipp>
#endif
