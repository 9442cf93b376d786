// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/data/read_table.hpp>
#include <cohort/transform/detail/implementation.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// Type of a column.
///
/// number     f64.
/// integer    a whole number whose magnitude is below 2^53.
/// category   a text from a list.
/// text       any text.
/// time       seconds since 1970-01-01T00:00:00 UTC, as f64. In files also as a text (ISO 8601):
///            2026-11-25, 2026-11-25T22:30, 2026-11-25 22:30:07.5Z, 2026-11-25T22:30:07+01:00; or in the
///            column's format. A text without an offset is in UTC.
enum class column_type : std::uint8_t { number, integer, category, text, time };

namespace detail {

inline constexpr std::array<std::string_view, 5> column_type_names{"number", "integer", "category", "text",
                                                                   "time"};

}  // namespace detail

/// Name, type and valid values of a column.
struct column_schema {
  std::string name = {};
  column_type type = column_type::number;
  /// Format of the texts of a column of times, with the directives of strptime; empty: ISO 8601. A column
  /// with a format contains no numbers: 20261125 is a text, of the format "%Y%m%d".
  ///
  ///     %Y %y      year of four digits; of two, from 1969 to 2068
  ///     %m %b %B   month: a number, or an English name or its first three letters (%b and %B)
  ///     %d %j      day of the month, day of the year
  ///     %a %A      weekday: an English name or its first three letters, which is not compared with the date
  ///     %H %I %p   hour from 0 to 23; from 1 to 12 with AM or PM
  ///     %M %S %f   minute, second, digits after the decimal sign of a second (at most 9)
  ///     %z %Z      Z, +hh, +hhmm or +hh:mm; UTC, GMT or Z
  ///     %%         a percent sign
  ///
  /// Other characters are themselves; blanks are one or more blanks. Numbers may lack leading zeros, except
  /// years and numbers next to each other (%d%m%Y). Names may be in upper or lower case. A format contains a
  /// year. Without a month or a day, the time is in the first of the year or of the month.
  std::string format = {};
  std::vector<std::string> values = {};          ///< values of a category, in the order of their indices
  std::optional<double> lowest = std::nullopt;   ///< lowest valid number, integer or time
  std::optional<double> highest = std::nullopt;  ///< highest valid number, integer or time
  bool required = false;                         ///< a missing value does not match the schema
  bool optional = false;                         ///< a table may lack the column; its values are then missing

  /// Returns whether the values are numbers: number, integer or time.
  bool has_numbers() const { return type != column_type::category && type != column_type::text; }
  bool operator==(column_schema const&) const = default;
};

/// Columns of tables. A table that matches a schema has these columns, in any order, and may have additional
/// ones.
struct table_schema {
  std::vector<column_schema> columns{};

  /// Returns the column of this name; null if there is none.
  column_schema const* find(std::string_view name) const&;
  column_schema const* find(std::string_view name) const&& = delete;  // keep the schema in a variable
  /// Throws setting_error if there is no column, if a name is empty or occurs twice, if a category has no
  /// values or has a value twice, if a column that is not a category has values, if a format is invalid or
  /// belongs to a column that is not a time, or if bounds are not finite, are in the wrong order, or belong
  /// to a column without numbers.
  void check() const;
  bool operator==(table_schema const&) const = default;
};

/// Returns the settings with which read_table reads a file of this schema: its columns, numbers as f64, times
/// with a format as texts, missing values kept. `format` contains the other settings, such as the separator.
///
/// After     a column with a malformed number is read as texts, which fitted_pipeline checks row by row.
table_settings format_of(table_schema const& schema, table_settings format = {});

/// Returns the name of a type in messages and files: "number", "integer", …
std::string_view name_of(column_type type);

}  // namespace cohort
