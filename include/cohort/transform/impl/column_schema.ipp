// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/detail/table_values.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/transform/column_schema.hpp>
#include <cohort/transform/detail/time_text.hpp>
#include <utility>

namespace cohort::detail {

[[noreturn]] void refuse_schema(char const* what, std::string const& column, std::string expected,
                                std::string got) {
  throw setting_error({.what = what,
                       .where = {"schema, column ", quote_for_error(column)},
                       .expected = std::move(expected),
                       .got = std::move(got)});
}

void check_values(column_schema const& column) {
  if (column.type != column_type::category) {
    if (!column.values.empty())
      refuse_schema("a column that is no category has values", column.name, "type category, or no values",
                    std::string(name_of(column.type)));
    return;
  }
  if (column.values.empty())
    refuse_schema("a category has no values", column.name,
                  "at least 1 value; the step categories learns the values of a text", "none");
  for (std::string const& value : column.values)
    if (value.find('\0') != value.npos)
      refuse_schema("a value of a category contains a NUL byte", column.name, "no NUL bytes",
                    quote_for_error(value));
  std::vector<std::string> sorted = column.values;
  std::ranges::sort(sorted);
  auto const twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end())
    refuse_schema("a category has a value twice", column.name, "different values", quote_for_error(*twice));
}

void check_bounds(column_schema const& column) {
  for (auto const& bound : {column.lowest, column.highest}) {
    if (bound && !column.has_numbers())
      refuse_schema("a column of texts has bounds", column.name, "type number, integer or time",
                    std::string(name_of(column.type)));
    if (bound && !is_finite(*bound))
      refuse_schema("a bound is not finite", column.name, "a finite number", text_of({*bound}));
  }
  if (column.lowest && column.highest && *column.lowest > *column.highest)
    refuse_schema("the bounds of a column are in the wrong order", column.name, "lowest at most highest",
                  text_of({*column.lowest, " and ", *column.highest}));
}

void check_format(column_schema const& column) {
  if (column.format.empty()) return;
  if (column.type != column_type::time)
    refuse_schema("a column that is no time has a format", column.name, "type time, or no format",
                  std::string(name_of(column.type)));
  if (std::string const mistake = mistake_in_time_format(column.format); !mistake.empty())
    refuse_schema(
        "a format of times is invalid", column.name,
        "directives such as %d/%m/%Y or %Y-%m-%d %H:%M:%S, each once: %Y %y %m %b %B %d %j %a %A %H "
        "%I %p %M %S %f %z %Z %%",
        quote_for_error(column.format) + ": " + mistake);
}

}  // namespace cohort::detail

namespace cohort {

std::string_view name_of(column_type type) {
  return detail::column_type_names[static_cast<std::size_t>(type)];
}

column_schema const* table_schema::find(std::string_view name) const& {
  auto const found = std::ranges::find(columns, name, &column_schema::name);
  return found == columns.end() ? nullptr : &*found;
}

void table_schema::check() const {
  if (columns.empty())
    throw setting_error(
        {.what = "a schema has no columns", .where = "schema", .expected = "at least 1 column", .got = "0"});
  std::vector<std::string_view> names;
  for (column_schema const& column : columns) {
    if (column.name.empty()) detail::refuse_schema("a column has no name", column.name, "a name", "none");
    detail::check_values(column);
    detail::check_format(column);
    detail::check_bounds(column);
    names.push_back(column.name);
  }
  std::ranges::sort(names);
  auto const twice = std::ranges::adjacent_find(names);
  if (twice != names.end())
    detail::refuse_schema("two columns have the same name", std::string(*twice), "different names",
                          "the name twice");
}

table_settings format_of(table_schema const& schema, table_settings format) {
  schema.check();
  format.columns.clear();
  format.number_columns.clear();
  format.text_columns.clear();
  format.optional_columns.clear();
  for (column_schema const& column : schema.columns) {
    format.columns.push_back(column.name);
    if (!column.has_numbers() || !column.format.empty()) format.text_columns.push_back(column.name);
    if (column.optional) format.optional_columns.push_back(column.name);
  }
  format.number_type = element_type::f64;
  format.missing = missing_values::keep;
  format.may_be_empty = true;
  format.out_of_range_is_text = true;
  return format;
}

}  // namespace cohort
