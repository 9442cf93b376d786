// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {
class data_table;
struct table_settings;
}  // namespace cohort

namespace cohort::detail {

/// The place of a part of a table: some of its rows as text, without the names.
struct table_part {
  std::span<std::string const> names;  // of all columns
  std::int64_t first_line = 1;         // number of its first line in the file
  std::int64_t rows_before = 0;        // number of the file's rows before it
};

/// Returns the separator: that of the settings, or the one of the name's extension.
///
/// Errors    setting_error for a separator that is not possible.
char separator_of(std::string_view name, table_settings const& settings);

/// Returns the names of all columns. `text`: begins with the table's first row.
///
/// Errors    as parse_table.
std::vector<std::string> table_names(std::string_view text, std::string const& where,
                                     table_settings const& settings);

/// Parses a part of a table.
///
/// Errors    as parse_table, with the lines and rows of the file.
data_table parse_rows(std::string_view text, std::string const& where, table_settings const& settings,
                      table_part const& part);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/data/impl/read_table.ipp>
#endif
