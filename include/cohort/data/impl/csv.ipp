// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <charconv>
#include <cohort/data/csv.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

namespace cohort::detail {

struct csv_table {
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  std::vector<float> values;
};

class csv_parser {
 public:
  csv_parser(std::string_view text, std::string const& where, csv_settings const& settings)
      : text_(text), where_(where), settings_(settings) {}

  std::shared_ptr<csv_table> parse() {
    auto table = std::make_shared<csv_table>();
    bool header = settings_.header;
    while (!text_.empty()) {
      std::size_t const end = std::min(text_.find('\n'), text_.size());
      std::string_view row = text_.substr(0, end);
      text_.remove_prefix(std::min(end + 1, text_.size()));
      ++line_;
      if (!row.empty() && row.back() == '\r') row.remove_suffix(1);
      if (row.find_first_not_of(" \t") == std::string_view::npos) continue;
      if (columns_ == 0) count_columns(row);
      if (header)
        header = false;
      else
        parse_row(row, *table);
    }
    if (rows_ == 0)
      throw data_error(
          {.what = "the CSV has no rows", .where = where_, .expected = "at least 1 row", .got = "0"});
    return table;
  }

  int input_columns() const { return columns_ - (label_ >= 0 ? 1 : 0); }
  int rows() const { return rows_; }

 private:
  [[noreturn]] void refuse(char const* what, int column, std::string expected, std::string got) const {
    throw data_error({.what = what,
                      .where = {where_, ':', line_, ':', column},
                      .expected = std::move(expected),
                      .got = std::move(got)});
  }

  void count_columns(std::string_view row) {
    columns_ = 1 + static_cast<int>(std::count(row.begin(), row.end(), settings_.separator));
    if (!settings_.label_column) return;
    label_ = *settings_.label_column + (*settings_.label_column < 0 ? columns_ : 0);
    if (label_ < 0 || label_ >= columns_ || columns_ < 2)
      throw setting_error({.what = "the CSV has no such label column",
                           .where = where_,
                           .expected = "at least 2 columns, and a label_column that is one of them",
                           .got = {"label_column ", *settings_.label_column, " of ", columns_, " columns"}});
  }

  void parse_row(std::string_view row, csv_table& table) {
    int const fields = 1 + static_cast<int>(std::count(row.begin(), row.end(), settings_.separator));
    if (fields != columns_)
      refuse("a CSV row has the wrong number of columns", std::min(fields, columns_) + 1,
             std::to_string(columns_) + " columns", std::to_string(fields) + " columns");
    for (int column = 0; column < columns_; ++column) {
      std::size_t const end = std::min(row.find(settings_.separator), row.size());
      std::string_view const field = trimmed(row.substr(0, end));
      row.remove_prefix(std::min(end + 1, row.size()));
      if (column == label_ && !settings_.regression)
        table.labels.push_back(label(field, column + 1));
      else
        (column == label_ ? table.values : table.inputs).push_back(number(field, column + 1));
    }
    if (rows_ == 0x7fffffff) refuse("the CSV has too many rows", 1, "at most 2147483647", "more");
    ++rows_;
  }

  static std::string_view trimmed(std::string_view field) {
    while (!field.empty() && (field.front() == ' ' || field.front() == '\t')) field.remove_prefix(1);
    while (!field.empty() && (field.back() == ' ' || field.back() == '\t')) field.remove_suffix(1);
    return field;
  }

  /// Parses a number; returns false unless it is the whole field.
  template <class T>
  static bool parse_all(std::string_view field, T& value) {
    if (field.size() > 1 && field.front() == '+' && field[1] != '-') field.remove_prefix(1);
    auto const [end, failed] = std::from_chars(field.data(), field.data() + field.size(), value);
    return failed == std::errc() && end == field.data() + field.size();
  }

  /// The first row may hold column names.
  std::string header_hint() const {
    return rows_ > 0 || settings_.header ? "" : " (if the first line contains column names: .header = true)";
  }

  static std::string quoted(std::string_view field) { return '"' + std::string(field.substr(0, 40)) + '"'; }

  float number(std::string_view field, int column) const {
    float value = 0;
    if (!parse_all(field, value) || not_finite(value))
      refuse("a CSV field is not a number", column, "a finite number" + header_hint(), quoted(field));
    return value;
  }

  std::int32_t label(std::string_view field, int column) const {
    std::int32_t const largest = settings_.classes > 0 ? settings_.classes - 1 : (1 << 24);
    std::int32_t value = 0;
    if (!parse_all(field, value) || value < 0 || value > largest)
      refuse("a CSV field is not a valid class label", column,
             "0 to " + std::to_string(largest) + header_hint(), quoted(field));
    return value;
  }

  std::string_view text_;
  std::string const& where_;
  csv_settings const& settings_;
  int columns_ = 0;
  int label_ = -1;
  int line_ = 0;
  int rows_ = 0;
};

}  // namespace cohort::detail

namespace cohort {

COHORT_CORE_INLINE arrays parse_csv(std::string_view text, std::string const& where,
                                    csv_settings const& settings) {
  detail::csv_parser parser(text, where, settings);
  std::shared_ptr<detail::csv_table> const table = parser.parse();
  int const rows = parser.rows();
  std::vector<array> targets;
  if (!table->labels.empty()) {
    int const largest = *std::max_element(table->labels.begin(), table->labels.end());
    targets.push_back({.name = "label",
                       .values = {table->labels.data(), shape(rows)},
                       .classes = settings.classes > 0 ? settings.classes : largest + 1});
  } else if (!table->values.empty()) {
    targets.push_back({.name = "target", .values = {table->values.data(), shape(rows, 1)}});
  }
  return arrays(
      {array{.name = "input", .values = {table->inputs.data(), shape(rows, parser.input_columns())}}},
      targets, table);
}

COHORT_CORE_INLINE arrays read_csv(std::string const& path, csv_settings const& settings) {
  std::vector<std::byte> const bytes = io::read_file(path);
  return parse_csv({reinterpret_cast<char const*>(bytes.data()), bytes.size()}, path, settings);
}

}  // namespace cohort
