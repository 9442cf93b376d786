// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/sink.hpp>
#include <cohort/records/record_dataset.hpp>
#include <cohort/transform/detail/implementation.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cohort {

/// How rows that do not match the schema are treated.
struct transform_settings {
  /// stop: data_error. skip: the row is omitted and counted.
  bad_record bad = bad_record::stop;
  /// Receives a message for each skipped row, in every pass over the rows, and the notices of the report.
  sink log{};
  /// Largest number of distinct values of a column, on all ranks together, that `categories` and `impute`
  /// (median, most frequent) count. Each value needs some 100 bytes of memory on each rank, and 16 bytes
  /// more for each rank of the run.
  std::size_t max_distinct = 1'000'000;
  /// Number of this rank in messages; −1: messages name no rank. Collective calls set this number.
  int rank = -1;
};

/// Counts of the rows that a pipeline has processed.
struct transform_report {
  static constexpr std::size_t max_problems = 10;

  std::int64_t rows = 0;                ///< rows that were read
  std::int64_t removed = 0;             ///< rows that filters have removed
  std::int64_t skipped = 0;             ///< rows that do not match the schema
  std::vector<std::string> problems{};  ///< messages of the first max_problems skipped rows
  /// Messages about columns from which a step has learned: dates as categories, nearly as many categories as
  /// rows, only one value.
  std::vector<std::string> notices{};

  std::int64_t kept() const { return rows - removed - skipped; }
  /// Adds another report.
  void add(transform_report const& more);
};

}  // namespace cohort
