// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/detail/column_check.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/finite.hpp>
#include <type_traits>
#include <utility>

namespace cohort::detail {

/// Returns a count with its noun: "1 text", "2 texts".
std::string count_text(std::int64_t count, char const* what) {
  return text_of({count, " ", what, count == 1 ? "" : "s"});
}

std::string description_of_texts(table_column const& column) {
  if (column.number_fields == 0) return column.first_text;
  return text_of({count_text(column.number_fields, "number"), " and ", count_text(column.text_fields, "text"),
                  ", the first ", column.first_text});
}

/// Returns the number of digits at the beginning of a text, and removes them.
std::size_t remove_digits(std::string_view& text) {
  std::size_t const count = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(count);
  return count;
}

bool is_date(std::string_view text) {
  std::size_t const first = remove_digits(text);
  if (first == 0 || text.empty()) return false;
  char const separator = text.front();
  text.remove_prefix(1);
  std::size_t const second = remove_digits(text);
  if (separator == ':') return first <= 2 && second == 2;  // a time
  if (std::string_view("-/.").find(separator) == std::string_view::npos || second < 1 || second > 2)
    return false;
  if (text.empty() || text.front() != separator) return false;
  text.remove_prefix(1);
  std::size_t const third = remove_digits(text);
  bool const year_first = first == 4 && (third == 1 || third == 2);
  bool const year_last = first <= 2 && (third == 4 || (third == 2 && separator != '.'));
  return (year_first || year_last) && (text.empty() || text.front() == ' ' || text.front() == 'T');
}

void check_column(column_facts const& facts, std::vector<std::string>* notices) {
  constexpr std::int64_t few_values = 10;  // too few to tell names from categories
  if (facts.number_fields > facts.text_fields)
    throw data_error({.what = "a column of numbers contains texts",
                      .where = facts.place,
                      .expected = "a number in every field; or the texts in table_settings::missing_texts if "
                                  "they mean a missing value; or the column in text_columns if its numbers "
                                  "are names",
                      .got = facts.description});
  auto const report = [&](char const* what, std::string expected, std::string got) {
    if (!notices) return;
    notices->emplace_back(
        data_error(
            {.what = what, .where = facts.place, .expected = std::move(expected), .got = std::move(got)})
            .what());
  };
  if (facts.values > 1 && facts.different == 1 && facts.missing == 0)
    report("a column has the same value in all rows", "different values, or no such column",
           facts.is_text ? "one text" : "one number");
  else if (2 * facts.dates > facts.values)
    report("a column contains dates, each of which is treated as a name",
           "numbers, such as month(day) or weekday(day) of a column of type time in a transform_pipeline; or "
           "no such column",
           text_of({facts.different, " different texts in ", facts.values, " rows"}));
  else if (facts.is_text && facts.values >= few_values && 2 * facts.different > facts.values)
    report("a column of texts has nearly as many values as rows",
           "texts that occur in many rows, or no such column",
           text_of({facts.different, " different texts in ", facts.values, " rows"}));
  if (facts.number_fields > 0)
    report("a column of texts contains numbers, each of which is treated as a name",
           "only numbers; or the column in table_settings::text_columns if its numbers are names",
           facts.description);
}

}  // namespace cohort::detail
