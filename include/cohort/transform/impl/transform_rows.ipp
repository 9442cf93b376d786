// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/detail/table_content.hpp>
#include <cohort/data/detail/table_values.hpp>
#include <cohort/data/detail/text_dictionary.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/transform/detail/time_text.hpp>
#include <cohort/transform/transform_rows.hpp>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

namespace cohort::detail {

/// Collects one column of rows.
class column_of_rows {
 public:
  column_of_rows(column_schema const& schema, table_column& to) : schema_(schema), to_(to) {
    to_.is_text = !schema.has_numbers() || !schema.format.empty();
  }

  /// Returns false for a value of another type.
  bool add(row_value const& value) {
    auto const* const text = std::get_if<std::string>(&value);
    auto const* const number = std::get_if<double>(&value);
    if (to_.is_text) {
      if (number || (text && !schema_.format.empty() && !parse_time(trimmed(*text), schema_.format)))
        return false;
      to_.codes.push_back(text ? texts_.code_of(texts_.key_of(*text)) : -1);
      return true;
    }
    std::optional<double> const time =
        text && schema_.type == column_type::time ? parse_time(trimmed(*text)) : std::nullopt;
    if (text && !time) return false;
    to_.f64.push_back(number ? *number : time ? *time : std::numeric_limits<double>::quiet_NaN());
    return true;
  }
  void finish() {
    if (to_.is_text) to_.vocabulary = texts_.sort(to_.codes);
  }

 private:
  column_schema const& schema_;
  table_column& to_;
  text_dictionary texts_{};
};

}  // namespace cohort::detail

namespace cohort {

data_table table_of(table_schema const& schema, std::vector<table_row> const& rows,
                    std::string const& where) {
  schema.check();
  auto content = std::make_shared<detail::table_content>();
  content->where = where;
  content->number_type = element_type::f64;
  content->rows = static_cast<int>(rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r)
    if (rows[r].size() != schema.columns.size())
      throw shape_error({.what = "a row has the wrong number of values",
                         .where = {where, ", row ", r + 1},
                         .expected = {schema.columns.size()},
                         .got = {rows[r].size()}});
  content->columns.resize(schema.columns.size());
  for (std::size_t c = 0; c < schema.columns.size(); ++c) {
    column_schema const& column = schema.columns[c];
    content->names.push_back(column.name);
    content->by_name.emplace(column.name, c);
    detail::column_of_rows values(column, content->columns[c]);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      auto const* const text = std::get_if<std::string>(&rows[r][c]);
      bool const has_nul = text && text->find('\0') != std::string::npos;
      if (has_nul || !values.add(rows[r][c]))
        throw data_error(
            {.what = "a value of a row has the wrong type",
             .where = {where, ", column ", column.name, ", row ", r + 1},
             .expected = !column.format.empty()
                             ? "a time in the format " + detail::quote_for_error(column.format)
                         : column.type == column_type::time ? std::string("a time or a number")
                         : column.has_numbers()             ? std::string("a number")
                                                            : std::string("a text without NUL bytes"),
             .got = text ? detail::quote_for_error(*text) : detail::text_of({std::get<double>(rows[r][c])})});
    }
    values.finish();
    content->columns[c].first_text = "texts";
  }
  return data_table(std::move(content));
}

}  // namespace cohort
