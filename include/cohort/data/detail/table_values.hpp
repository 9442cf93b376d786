// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cohort/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/finite.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Throws data_error about a value of a table, with the row's number in the file.
template <class Table>
[[noreturn]] void refuse_value(Table const& table, char const* what, std::string_view column, std::size_t row,
                               std::string expected, std::string got) {
  throw data_error(
      {.what = what,
       .where = {table.name(), ", column ", column, ", row ", table.row_number(static_cast<int>(row))},
       .expected = std::move(expected),
       .got = std::move(got)});
}

/// Returns the names of the columns for a message, at most 50.
std::string listed_columns(std::vector<std::string> const& columns);

/// Throws setting_error for a column that a table does not have.
[[noreturn]] void refuse_column(std::string const& table, std::vector<std::string> const& columns,
                                std::string_view wanted);

/// Returns columns of numbers as a row-major matrix.  Errors: data_error for a missing number.
template <class T, class Table>
std::shared_ptr<std::vector<T>> matrix_of(Table const& table, std::vector<std::string> const& columns) {
  auto matrix = std::make_shared<std::vector<T>>();
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::span<T const> const from = table.template numbers<T>(columns[c]);
    matrix->resize(from.size() * columns.size());
    for (std::size_t row = 0; row < from.size(); ++row) {
      if (!is_finite(from[row]))
        refuse_value(table, "a value is missing", columns[c], row, "a number", "none");
      (*matrix)[row * columns.size() + c] = from[row];
    }
  }
  return matrix;
}

/// Returns the numbers of a target column.  Errors: data_error if one is missing.
template <class T, class Table>
std::span<T const> targets_in(Table const& table, std::string const& column) {
  std::span<T const> const from = table.template numbers<T>(column);
  for (std::size_t row = 0; row < from.size(); ++row)
    if (!is_finite(from[row])) refuse_value(table, "a target is missing", column, row, "a number", "none");
  return from;
}

/// Returns the class labels in a column of numbers. If `classes` is 0, sets it to the largest label + 1.
///
/// Errors    data_error with column and row for a value that is not a label.
template <class T, class Table>
std::vector<std::int32_t> labels_in(Table const& table, std::string const& column, int& classes) {
  std::int32_t const largest = classes > 0 ? classes - 1 : (1 << 24);
  std::vector<std::int32_t> labels;
  std::span<T const> const from = table.template numbers<T>(column);
  for (std::size_t row = 0; row < from.size(); ++row) {
    T const label = from[row];
    if (!(label >= 0 && label <= static_cast<T>(largest) && label == std::floor(label)))
      refuse_value(table, "a value is not a valid class label", column, row,
                   classes > 0 ? text_of({"a whole number from 0 to ", largest})
                               : "a whole number from 0; for a number to predict, set .regression = true",
                   is_finite(label) ? text_of({label}) : "none");
    labels.push_back(static_cast<std::int32_t>(label));
  }
  if (classes == 0 && !labels.empty()) classes = *std::ranges::max_element(labels) + 1;
  return labels;
}

/// Returns the names of the input columns: the names in the settings, or all columns except the target.
///
/// Errors    setting_error if a name occurs twice or is the target's, or if there is no input column.
std::vector<std::string> input_names(std::vector<std::string> const& wanted,
                                     std::vector<std::string> const& all, std::string const& target);

}  // namespace cohort::detail
