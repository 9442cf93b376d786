// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/arrays.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace cohort {

/// Format of a CSV text.
struct csv_settings {
  char separator = ',';
  bool header = false;  ///< the first line contains column names and is skipped
  /// From 0, or negative from the end: −1 is the last column. nullopt: inputs only.
  std::optional<int> label_column = -1;
  int classes = 0;          ///< 0: largest label + 1
  bool regression = false;  ///< the label column is a number to predict, not a class
};

/// Parses a CSV text of numbers, one example per row. Blanks around numbers and empty lines are allowed,
/// quotes are not.
///
/// Shapes    input: f32 (columns). Target: i32 class label, or f32 (1) for regression.
/// Errors    data_error with where:line:column if a row has a different number of columns, a field is not a
///           finite number, or a label is out of range. data_error if there are no rows. setting_error if
///           there is no such label column.
arrays parse_csv(std::string_view text, std::string const& where, csv_settings const& settings = {});

/// Reads a CSV file.  Errors: as parse_csv and read_file.
arrays read_csv(std::string const& path, csv_settings const& settings = {});

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/data/impl/csv.ipp>
#endif
