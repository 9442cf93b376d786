// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/data_table.hpp>
#include <cohort/data/read_table.hpp>
#include <cohort/execution/sink.hpp>
#include <cohort/io/file.hpp>
#include <cohort/records/record_dataset.hpp>
#include <cohort/transform/column_schema.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace cohort {

/// A value of a row: missing, a number or a text.
using row_value = std::variant<std::monostate, double, std::string>;
/// A row: one value per column of a schema, in the order of the schema.
using table_row = std::vector<row_value>;

/// Returns a table of rows, with numbers as f64.
///
/// Errors    setting_error from schema.check(); shape_error for a row with another number of values;
///           data_error naming `where`, column and row for a text in a column of numbers, except a time, or a
///           number in a column of texts.
data_table table_of(table_schema const& schema, std::vector<table_row> const& rows,
                    std::string const& where = "rows");

/// Rows in pieces, for data that is read several times or does not fit into memory: a call passes each piece
/// to `use`, in the same order in every call.
using table_pieces = std::function<void(std::function<void(data_table const&)> const& use)>;

/// Returns the rows of files, one piece per file. Each call reads the files again, one at a time, by
/// read_table with format_of(schema, format).
///
/// Parameters  `files`: the files of this rank, or all files; may be empty. `source`: as of read_table.
/// Errors    a call throws the errors of read_table, which names file, line and column.
table_pieces pieces_of(std::vector<std::string> files, table_schema const& schema,
                       table_settings const& format = {}, io::byte_source const& source = {});

/// How rows that do not match the schema are treated.
struct transform_settings {
  /// stop: data_error. skip: the row is omitted and counted.
  bad_record bad = bad_record::stop;
  /// Receives a message for each skipped row.
  sink log{};
  /// Limits the distinct values of a column that `categories`, and `impute` with the median or the most
  /// frequent value, count on each rank: some 50 bytes of memory for each.
  std::size_t max_distinct = 1'000'000;
  /// Number of this rank in messages; −1: messages name no rank. Calls with a communicator of several ranks
  /// set it.
  int rank = -1;
};

/// Numbers of rows that a pipeline has read.
struct transform_report {
  static constexpr std::size_t max_problems = 10;

  std::int64_t rows = 0;                ///< read
  std::int64_t removed = 0;             ///< by filters
  std::int64_t skipped = 0;             ///< because they do not match the schema
  std::vector<std::string> problems{};  ///< messages of the first max_problems skipped rows

  std::int64_t kept() const { return rows - removed - skipped; }
  /// Adds another report.
  void add(transform_report const& more);
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/transform/impl/transform_rows.ipp>
#endif
