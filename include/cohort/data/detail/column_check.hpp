// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/detail/table_content.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// Facts about the training values of a column from which an input or a target of a network is made.
struct column_facts {
  std::string place{};          // for messages: "flats.csv, column rent"
  std::int64_t missing = 0;     // missing values that are not imputed by the column's mean or median
  std::int64_t values = 0;      // values that are not missing
  std::int64_t different = 0;   // number of distinct values; for numbers, 2 means two or more
  std::int64_t dates = 0;       // texts that are dates or times
  std::int64_t quantities = 0;  // texts that are numbers between the same texts: $1.50, 12 kg
  bool is_text = false;
  // If the column has texts and its type was not given: counts of fields with a number, and of other fields.
  std::int64_t number_fields = 0, text_fields = 0;
  std::string description{};  // of these fields, for messages
  std::string sign{};         // of quantities: "$#", "# kg"
  std::string merged{};       // two different integers that are the same f32, with their positions

  /// Adds a text of the column that occurs `times` times.
  void add(std::string_view text, std::int64_t times);
};

/// Checks the type of a column before its texts are encoded, or its numbers rescaled. Adds a notice for a
/// column of dates, a column of quantities, a column of mostly distinct texts (more than half of the values),
/// a column of both texts and numbers, a column with only one value, and a column with different integers
/// that are the same f32.
///
/// Errors    data_error with file, line and column if most fields of a column of texts are numbers and the
///           type of the column was not given.
void check_column(column_facts const& facts, std::vector<std::string>* notices = nullptr);

/// Describes the texts of a column for messages: "399 numbers and 1 text, the first \"n.a.\" at t.csv:9:1".
std::string description_of_texts(table_column const& column);

/// Returns whether a text is a date or a time, such as 2026-11-28, 2026-11, 20261128T0930, 28.11.26,
/// 2026-W48, 11/28/26 9:30, 28-Nov-2026, November 28, 2026 or 20:15.
bool is_date(std::string_view text);

/// Returns the text around the number in a quantity, with # for the number: "$#" of $1,234.50, "# kg" of
/// -12 kg, "#," of a number with a comma and no unit, such as 1,5. Empty for a plain number, and for other
/// texts: those with a letter before the number, or with two numbers.
std::string sign_of_quantity(std::string_view text);

}  // namespace cohort::detail
