// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/detail/column_check.hpp>
#include <cohort/detail/json_string.hpp>
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

/// Returns whether a text consists of one English name of a month or its abbreviation, one to three numbers,
/// blanks and punctuation.
bool is_date_with_month(std::string_view text) {
  constexpr std::string_view months[]{"january", "february", "march",     "april",   "may",      "june",
                                      "july",    "august",   "september", "october", "november", "december"};
  int names = 0, numbers = 0;
  while (!text.empty()) {
    if (remove_digits(text) > 0) {
      ++numbers;
      continue;
    }
    std::string word;
    for (; !text.empty() && (text.front() | 0x20) >= 'a' && (text.front() | 0x20) <= 'z';
         text.remove_prefix(1))
      word += static_cast<char>(text.front() | 0x20);
    bool const is_month = std::ranges::any_of(months, [&](std::string_view month) {
      return word == month || (word.size() >= 3 && word.size() <= 4 && month.starts_with(word));
    });
    if (!word.empty() && !is_month) return false;
    names += is_month;
    if (!word.empty()) continue;
    if (std::string_view(" ,.-/").find(text.front()) == std::string_view::npos) return false;
    text.remove_prefix(1);
  }
  return names == 1 && numbers >= 1 && numbers <= 3;
}

bool is_date(std::string_view text) {
  if (is_date_with_month(text)) return true;
  bool const begins_with_year = text.starts_with("19") || text.starts_with("20");
  std::size_t const first = remove_digits(text);
  if (first == 0 || text.empty()) return false;
  char const separator = text.front();
  text.remove_prefix(1);
  if (separator == 'T') return first == 8 && begins_with_year && remove_digits(text) >= 2;
  bool const is_week = first == 4 && separator == '-' && text.starts_with('W');
  if (is_week) text.remove_prefix(1);
  std::size_t const second = remove_digits(text);
  if (text.empty() && first == 4 && begins_with_year && second == 2 && (is_week || separator == '-'))
    return true;
  if (separator == ':') return first <= 2 && second == 2;  // a time
  if (std::string_view("-/.").find(separator) == std::string_view::npos || second < 1 || second > 2)
    return false;
  if (text.empty() || text.front() != separator) return false;
  text.remove_prefix(1);
  std::size_t const third = remove_digits(text);
  bool const year_first = first == 4 && (third == 1 || third == 2);
  bool const year_last = first <= 2 && (third == 4 || third == 2);
  return (year_first || year_last) && (text.empty() || text.front() == ' ' || text.front() == 'T');
}

std::string sign_of_quantity(std::string_view text) {
  constexpr std::size_t most = 12;  // bytes around the number
  constexpr std::string_view digits = "0123456789";
  std::size_t const first = text.find_first_of(digits);
  if (first == text.npos) return {};
  std::size_t end = text.find_first_not_of("0123456789.,", first);
  if (end == text.npos) end = text.size();
  std::string before(text.substr(0, first)), after(text.substr(end));
  auto const is_letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
  if (std::ranges::any_of(before, is_letter) || after.find_first_of(digits) != after.npos
      || before.size() + after.size() > most)
    return {};
  while (!before.empty() && std::string_view("+-.").find(before.back()) != std::string_view::npos)
    before.pop_back();
  bool const has_comma = text.substr(first, end - first).find(',') != text.npos;
  if (before.empty() && after.empty()) return has_comma ? "#," : "";
  return before + '#' + after;
}

void column_facts::add(std::string_view text, std::int64_t times) {
  ++different;
  values += times;
  if (is_date(text)) dates += times;
  std::string const around = sign_of_quantity(text);
  if (!around.empty() && (sign.empty() || sign == around)) {
    sign = around;
    quantities += times;
  }
}

void check_column(column_facts const& facts, std::vector<std::string>* notices) {
  constexpr std::int64_t few_values = 10;  // too few to tell names from categories
  if (facts.number_fields > facts.text_fields)
    throw data_error({.what = "a column of numbers contains texts",
                      .where = facts.place,
                      .expected = "a number in every field; or the texts in table_settings::missing_texts if "
                                  "they mean a missing value; or the column in text_columns if its numbers "
                                  "are identifiers",
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
    report("a column contains dates, each of which is treated as a separate category",
           "numbers, such as month(day) or weekday(day) of a column of type time (with its format, unless it "
           "is ISO 8601) in a transform_pipeline; or no such column",
           text_of({facts.different, " different texts in ", facts.values, " rows"}));
  else if (2 * facts.quantities > facts.values && facts.different >= few_values)
    report(
        "a column contains numbers with a unit or a comma, each of which is treated as a separate category",
        "numbers without unit, with a decimal point and without thousands separators",
        text_of({facts.different, " different texts, such as ", quote_for_error(facts.sign)}));
  else if (facts.is_text && facts.values >= few_values && 2 * facts.different > facts.values)
    report("more than half of the texts of a column are distinct",
           "texts that occur in many rows, or no such column",
           text_of({facts.different, " different texts in ", facts.values, " rows"}));
  if (!facts.merged.empty())
    report("different integers of a column become the same f32",
           "the column in table_settings::text_columns if its numbers are identifiers; differences from a "
           "first value, below 16777216, if they are times or counts; or no such column",
           facts.merged);
  if (facts.number_fields > 0)
    report("a column of texts contains numbers, each of which is treated as a separate category",
           "only numbers; or the column in table_settings::text_columns if its numbers are identifiers",
           facts.description);
}

}  // namespace cohort::detail
