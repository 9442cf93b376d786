// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/arrays.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace cohort {

struct csv_settings {
  char separator = ',';
  bool header = false;                   ///< the first line names the columns
  std::optional<int> label_column = -1;  ///< from 0; negative from the end: −1 is the last; none: inputs only
  int classes = 0;                       ///< 0: one more than the largest label
  bool regression = false;               ///< the label column is a number to predict, not a class
};

/// Numbers separated by commas, a row an example: f32 inputs (columns) and, from the label column, an i32
/// class or an f32 value. Blanks around numbers and empty lines are allowed, quotes are not.
///
/// Errors    data_error naming where:line:column for a row of another length, a field that is no finite number,
///           a label out of range, and a text without rows.
arrays parse_csv(std::string_view text, std::string const& where, csv_settings const& settings = {});

/// Reads a CSV file.
arrays read_csv(std::string const& path, csv_settings const& settings = {});

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/data/impl/csv.ipp>
#endif
