// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/data/data_table.hpp>
#include <cohort/io/json_value.hpp>
#include <cohort/transform/table_pieces.hpp>
#include <cohort/transform/transform_pipeline.hpp>
#include <cohort/transform/transform_rows.hpp>
#include <cohort/transform/transform_settings.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

namespace detail {
struct pipeline_program;
}  // namespace detail

/// A pipeline and the values that its steps have learned from training rows. Copies share the pipeline and
/// the values.
///
///     fitted_pipeline const prepared(how, training);             // training and held-out rows are tables
///     arrays const examples = prepared.apply(training).examples({.target = "answer"});
///     arrays const held = prepared.apply(held_out).examples({.target = "answer"});
///
/// Order     the constructors with a communicator are collective. If no step depends on the values that
///           another step learns, the constructors pass over the training rows once. Each such dependence
///           adds a pass. A step B depends on a learning step A if B reads a column of A, or if B follows a
///           filter or derive that reads such a column. After a pass the statistics of the ranks are merged.
/// Moves     one allgatherv of the statistics per pass: up to 2.2 KiB for each column that is rescaled or
///           whose mean is computed, 16 bytes for each distinct number that is counted, and 16 bytes
///           plus the text for each distinct text.
/// Errors    setting_error from transform_pipeline::check, or if the ranks' pipelines differ. data_error if a
///           table in memory lacks a column (setting_error for a file); if a row does not match the schema,
///           with file, column, row and rank, unless rows are skipped; if all numbers of a column of times
///           are dates such as 20241231; if a step has no values to learn from; for more than max_distinct
///           different values. If one rank throws, all ranks throw.
/// Exact     the results are bitwise equal for the same training rows in any order, in any pieces and on any
///           ranks; all ranks get equal results.
class fitted_pipeline {
 public:
  fitted_pipeline(transform_pipeline how, data_table const& training, transform_settings const& rows = {});
  fitted_pipeline(transform_pipeline how, table_pieces const& training, transform_settings const& rows = {});
  /// Fits the pipeline to the training rows of all ranks. Each rank passes a part, which may be empty.
  fitted_pipeline(transform_pipeline how, data_table const& part, communicator& world,
                  transform_settings const& rows = {});
  fitted_pipeline(transform_pipeline how, table_pieces const& part, communicator& world,
                  transform_settings const& rows = {});

  /// Applies the steps before group_by_key to the rows of a table. Each row is transformed independently.
  ///
  /// After     numbers have type f64; a row keeps its row_number(). A category has the same vocabulary in all
  ///           results. The counts are added to `report`, if given.
  /// Errors    data_error for a table that lacks a column, or, unless rows are skipped, a row that does not
  ///           match the schema, with file, column and row.
  data_table apply(data_table const& rows, transform_settings const& how = {},
                   transform_report* report = nullptr) const;
  /// Applies the steps to one row, as if to a table of one row. Returns nullopt if a filter removes the row.
  ///
  /// Errors    as for a table; shape_error if the numbers of values and of the schema's columns differ.
  std::optional<table_row> apply(table_row const& row) const;
  /// Returns rows that are transformed piece by piece while they are read.
  ///
  /// Before    `report`, if given, outlives the result.
  table_pieces apply(table_pieces rows, transform_settings const& how = {},
                     transform_report* report = nullptr) const;

  /// Returns the pipeline.
  transform_pipeline const& description() const&;
  transform_pipeline const& description() const&& = delete;  // keep the pipeline in a variable
  /// Returns the columns of the result.
  table_schema const& schema() const&;
  table_schema const& schema() const&& = delete;  // keep the pipeline in a variable
  /// Returns the values that a step has learned; none for a step that does not learn.
  ///
  /// Errors    setting_error for a step that does not exist.
  std::vector<fitted_column> const& learned(std::size_t step) const&;
  std::vector<fitted_column> const& learned(std::size_t step) const&& = delete;  // keep it in a variable
  /// Returns the numbers of rows in the last pass over the training rows, summed over all ranks; zeros for a
  /// pipeline that was read from JSON. A pass ends at the last step that learns, so filters after this step
  /// do not count.
  transform_report const& report() const&;
  transform_report const& report() const&& = delete;  // keep the pipeline in a variable

  /// Returns a hash of to_json. Rows that `apply` returns have this hash as data_table::pipeline.
  std::uint64_t fingerprint() const;

  /// Reads a fitted pipeline.
  ///
  /// Errors    data_error as transform_pipeline::from_json, with name, line, column and path; also if
  ///           pipeline and learned values do not match.
  static fitted_pipeline from_json(std::string_view text, std::string_view name = "JSON text");
  /// Reads a parsed fitted pipeline.
  static fitted_pipeline from(io::json_value root);

  detail::pipeline_program const& program() const { return *program_; }

  friend bool operator==(fitted_pipeline const& a, fitted_pipeline const& b);

 private:
  explicit fitted_pipeline(std::shared_ptr<detail::pipeline_program> program);
  void fit(table_pieces const& training, communicator* world, transform_settings const& rows);
  void finish();

  std::shared_ptr<detail::pipeline_program> program_;
};

/// Writes a fitted pipeline as indented JSON: the fields of the pipeline, and `learned`.
///
/// Exact     from_json(to_json(p)) equals p and gives the same bits.
std::string to_json(fitted_pipeline const& fitted);

}  // namespace cohort
