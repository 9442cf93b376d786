// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/arrays.hpp>
#include <cohort/data/time_series.hpp>
#include <cohort/tensor/element.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

class data_table;

namespace detail {
struct table_content;
struct table_column;
struct column_facts;
struct number_format;
/// Returns the signs in the numbers of the text from which a table was read.
number_format const& number_format_of(data_table const& table);
/// Returns the facts about a column that check_column needs.
column_facts facts_of(data_table const& table, std::string const& column);
}  // namespace detail

/// A column of texts: row r has the text vocabulary[codes[r]], or none if codes[r] is −1.
///
/// Order     the vocabulary is sorted by bytes.
struct text_column {
  std::span<std::int32_t const> codes;
  std::span<std::string const> vocabulary;

  /// Returns the text of row r; an empty text if it is missing.
  std::string_view operator[](std::size_t r) const {
    return codes[r] < 0 ? std::string_view() : vocabulary[static_cast<std::size_t>(codes[r])];
  }
};

/// Settings of data_table::examples.
struct table_examples {
  std::vector<std::string> inputs = {};  ///< columns of numbers; empty: all columns except the target
  std::string target = {};               ///< empty: examples without target
  bool regression = false;               ///< the target is a number to predict, not a class
  int classes = 0;                       ///< classes of a target column of numbers; 0: largest label + 1
};

/// A table in memory, whose columns contain numbers or texts. Copies share the memory.
///
/// Units     a missing number is NaN, a missing text has code −1 (missing_values::keep of read_table).
/// Errors    setting_error that lists the columns (at most 50) for a column that does not exist. data_error
///           with the position of the first text if numbers are requested from a column of texts. data_error
///           if texts are requested from a column of numbers.
class data_table {
 public:
  explicit data_table(std::shared_ptr<detail::table_content const> content) : content_(std::move(content)) {}

  int rows() const;
  /// Returns the number of a row in the file, counted from 1. Differs from row + 1 in a part of a table, or
  /// if rows were dropped.
  std::int64_t row_number(int row) const;
  /// Returns the fitted_pipeline::fingerprint of the pipeline that prepared the rows; 0 if there is none.
  std::uint64_t pipeline() const;
  /// Returns the names of the columns, in the order of the table.
  std::vector<std::string> const& columns() const&;
  std::vector<std::string> const& columns() const&& = delete;  // keep the table in a variable
  bool has(std::string_view column) const;
  bool has_texts(std::string_view column) const;
  /// Returns the type of all numbers: f32 or f64.
  element_type number_type() const;
  /// Returns the name of the file or text, for error messages.
  std::string const& name() const&;
  std::string const& name() const&& = delete;  // keep the table in a variable

  /// Returns a column of numbers.  Errors: shape_error if T is not the C++ type of number_type().
  template <class T = float>
  std::span<T const> numbers(std::string_view column) const& {
    tensor_view const values = number_view(column);
    if (values.type != element_of<T>) refuse_type(element_of<T>);
    return values.as<T>();
  }
  template <class T = float>
  std::span<T const> numbers(std::string_view column) const&& = delete;  // keep the table in a variable
  text_column texts(std::string_view column) const&;
  text_column texts(std::string_view column) const&& = delete;  // keep the table in a variable

  /// Returns a table with the rows `rows` of this table, in this order; vocabularies are unchanged.
  ///
  /// Errors    setting_error for a row out of range.
  data_table select(std::span<std::int64_t const> rows) const;

  /// Returns the rows as a data set. Texts as inputs need a table_encoder.
  ///
  /// Shapes    input "input" (columns), delivered as f32. Target named as its column: an i32 class label,
  ///           or f32 (1) for regression. The vocabulary of a target of texts becomes the label names; a
  ///           target of numbers contains labels from 0.
  /// Errors    data_error with column and row for a missing value or an invalid label; data_error if an input
  ///           column contains texts, or if most fields of a target of texts are numbers (see table_encoder);
  ///           setting_error if a column is used twice, or no input column remains.
  arrays examples(table_examples const& settings) const;

  /// Returns columns of numbers as a series, oldest row first; all columns if `columns` is empty.
  ///
  /// Errors    data_error with column and row for a missing value.
  time_series series(std::vector<std::string> const& columns = {}) const;

 private:
  friend detail::number_format const& detail::number_format_of(data_table const& table);
  friend detail::column_facts detail::facts_of(data_table const& table, std::string const& column);

  detail::table_column const& find(std::string_view column) const;
  tensor_view number_view(std::string_view column) const;
  [[noreturn]] void refuse_type(element_type type) const;

  std::shared_ptr<detail::table_content const> content_;
};

/// A table in two parts: auto [training, held_out] = split(table, 0.8).
struct table_split {
  data_table training;
  data_table held_out;
};

/// Settings of the split of a table.
struct table_split_settings {
  std::uint64_t seed = 0;
  /// Name of a column. For each distinct text or number in it, and for missing values, the rows are divided
  /// in the same proportion. Empty: not stratified.
  std::string stratified_by = {};
};

/// Divides the rows of a table randomly into two new tables. Both keep the order of the rows.
///
/// Shapes    training has round(training_fraction · rows) rows.
/// Errors    setting_error if the fraction is not between 0 and 1, or a part would be empty.
/// Exact     the rows of each part depend only on (seed, fraction, rows) and the column stratified_by.
table_split split(data_table const& table, double training_fraction,
                  table_split_settings const& settings = {});

/// Divides the rows into one part per fraction: split(table, {0.7, 0.15, 0.15}).
///
/// Errors    as for two parts. setting_error if the sum of the fractions is not 1.
std::vector<data_table> split(data_table const& table, std::vector<double> const& fractions,
                              table_split_settings const& settings = {});

}  // namespace cohort
