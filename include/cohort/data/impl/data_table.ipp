// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/data_table.hpp>
#include <cohort/data/detail/column_check.hpp>
#include <cohort/data/detail/divide_indices.hpp>
#include <cohort/data/detail/merged_integers.hpp>
#include <cohort/data/detail/table_content.hpp>
#include <cohort/data/detail/table_values.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/finite.hpp>
#include <iterator>
#include <utility>

namespace cohort {

int data_table::rows() const { return content_->rows; }
std::int64_t data_table::row_number(int row) const {
  std::vector<std::int32_t> const& numbers = content_->row_numbers;
  return content_->rows_before + (numbers.empty() ? row + 1 : numbers[static_cast<std::size_t>(row)]);
}
std::uint64_t data_table::pipeline() const { return content_->pipeline; }
std::vector<std::string> const& data_table::columns() const& { return content_->names; }
element_type data_table::number_type() const { return content_->number_type; }
std::string const& data_table::name() const& { return content_->where; }

bool data_table::has(std::string_view column) const {
  return content_->by_name.find(column) != content_->by_name.end();
}

detail::table_column const& data_table::find(std::string_view column) const {
  auto const found = content_->by_name.find(column);
  if (found != content_->by_name.end()) return content_->columns[found->second];
  detail::refuse_column(name(), columns(), column);
}

bool data_table::has_texts(std::string_view column) const { return find(column).is_text; }

tensor_view data_table::number_view(std::string_view column) const {
  detail::table_column const& found = find(column);
  if (found.is_text)
    throw data_error({.what = "a column contains texts",
                      .where = {name(), ", column ", column},
                      .expected = "numbers",
                      .got = detail::description_of_texts(found)});
  shape const dims(rows());
  return number_type() == element_type::f32 ? tensor_view(found.f32.data(), dims)
                                            : tensor_view(found.f64.data(), dims);
}

void data_table::refuse_type(element_type type) const {
  throw shape_error({.what = "numbers were requested in another type than the table's",
                     .where = name(),
                     .expected = {name_of(number_type()), " (table_settings::number_type)"},
                     .got = {name_of(type)}});
}

text_column data_table::texts(std::string_view column) const& {
  detail::table_column const& found = find(column);
  if (!found.is_text)
    throw data_error({.what = "a column contains numbers",
                      .where = {name(), ", column ", column},
                      .expected = "texts (table_settings::text_columns)",
                      .got = "numbers"});
  return {found.codes, found.vocabulary};
}

data_table data_table::select(std::span<std::int64_t const> rows) const {
  for (std::size_t k = 0; k < rows.size(); ++k)
    if (rows[k] < 0 || rows[k] >= this->rows())
      throw setting_error({.what = "the table has no such row",
                           .where = {name(), ", select, index ", k},
                           .expected = this->rows() > 0 ? detail::text_of({"0 to ", this->rows() - 1})
                                                        : std::string("a table with rows"),
                           .got = {rows[k]}});
  auto part = std::make_shared<detail::table_content>();
  part->where = content_->where;
  part->number_type = content_->number_type;
  part->rows = static_cast<int>(rows.size());
  part->rows_before = content_->rows_before;
  part->numbers = content_->numbers;
  part->pipeline = content_->pipeline;
  for (std::int64_t const row : rows)
    part->row_numbers.push_back(
        static_cast<std::int32_t>(row_number(static_cast<int>(row)) - content_->rows_before));
  part->names = content_->names;
  part->by_name = content_->by_name;
  auto const copy = [&](auto const& from, auto& to) {
    if (from.empty()) return;
    to.reserve(rows.size());
    for (std::int64_t const row : rows) to.push_back(from[static_cast<std::size_t>(row)]);
  };
  for (detail::table_column const& from : content_->columns) {
    detail::table_column& to = part->columns.emplace_back();
    to.is_text = from.is_text;
    to.vocabulary = from.vocabulary;
    to.first_text = from.first_text;
    to.number_fields = from.number_fields;
    to.text_fields = from.text_fields;
    to.merged = from.merged;
    copy(from.f32, to.f32);
    copy(from.f64, to.f64);
    copy(from.codes, to.codes);
  }
  return data_table(std::move(part));
}

arrays data_table::examples(table_examples const& settings) const {
  std::vector<std::string> const inputs = detail::input_names(settings.inputs, columns(), settings.target);
  if (!settings.target.empty()) find(settings.target);
  struct memory {
    std::shared_ptr<void const> inputs;
    std::shared_ptr<detail::table_content const> table;
    std::vector<std::int32_t> labels;
  };
  auto const owner = std::make_shared<memory>();
  owner->table = content_;
  return detail::with_real(number_type(), [&](auto* type) {
    using real = std::remove_pointer_t<decltype(type)>;
    for (std::string const& column : inputs)
      if (find(column).is_text)
        throw data_error({.what = "an input column contains texts",
                          .where = {name(), ", column ", column},
                          .expected = "numbers, or a table_encoder that encodes the texts",
                          .got = detail::description_of_texts(find(column))});
    auto const matrix = detail::matrix_of<real>(*this, inputs);
    owner->inputs = matrix;
    array_view const input{.name = "input",
                           .values = {matrix->data(), shape(rows(), static_cast<int>(inputs.size()))},
                           .as = element_type::f32,
                           .feature_names = inputs,
                           .pipeline = pipeline()};
    if (settings.target.empty()) return arrays({input}, {}, owner);
    array_view target{.name = settings.target};
    if (settings.regression) {
      target.values = {detail::targets_in<real>(*this, settings.target).data(), shape(rows(), 1)};
      target.as = element_type::f32;
      return arrays({input}, {target}, owner);
    }
    if (has_texts(settings.target)) {
      detail::check_column(detail::facts_of(*this, settings.target));
      text_column const texts = this->texts(settings.target);
      owner->labels.assign(texts.codes.begin(), texts.codes.end());
      target.label_names.assign(texts.vocabulary.begin(), texts.vocabulary.end());
      target.classes = static_cast<int>(texts.vocabulary.size());
      auto const missing = std::ranges::find(owner->labels, -1);
      if (missing != owner->labels.end())
        detail::refuse_value(*this, "a target is missing", settings.target,
                             static_cast<std::size_t>(missing - owner->labels.begin()), "a text", "none");
    } else {
      target.classes = settings.classes;
      owner->labels = detail::labels_in<real>(*this, settings.target, target.classes);
    }
    target.values = {owner->labels.data(), shape(rows())};
    return arrays({input}, {target}, owner);
  });
}

time_series data_table::series(std::vector<std::string> const& columns) const {
  std::vector<std::string> const& used = columns.empty() ? this->columns() : columns;
  return detail::with_real(number_type(), [&](auto* type) {
    using real = std::remove_pointer_t<decltype(type)>;
    auto const matrix = detail::matrix_of<real>(*this, used);
    return time_series({matrix->data(), shape(rows(), static_cast<int>(used.size()))}, used, matrix,
                       pipeline());
  });
}

}  // namespace cohort

namespace cohort::detail {

number_format const& number_format_of(data_table const& table) { return table.content_->numbers; }

/// Describes two different integers of a column of f64 that are the same f32; "" if there are none.
std::string merged_in(data_table const& table, std::vector<double> const& values) {
  merged_integers integers;
  for (std::size_t row = 0; row < values.size(); ++row) {
    if (!is_finite(values[row]) || !merged_integers::is_large(values[row])) continue;
    if (auto const other = integers.add(values[row], row))
      return text_of({values[static_cast<std::size_t>(*other)], " in row ",
                      table.row_number(static_cast<int>(*other)), " and ", values[row], " in row ",
                      table.row_number(static_cast<int>(row))});
  }
  return {};
}

column_facts facts_of(data_table const& table, std::string const& name) {
  table_column const& column = table.find(name);
  column_facts facts{.place = text_of({table.name(), ", column ", name}), .is_text = column.is_text};
  if (!column.is_text) {
    facts.merged = table.number_type() == element_type::f64 ? merged_in(table, column.f64) : column.merged;
    with_real(table.number_type(), [&](auto* type) {
      using real = std::remove_pointer_t<decltype(type)>;
      real first = 0;
      for (real const value : column.numbers<real>()) {
        if (!is_finite(value)) {
          ++facts.missing;
          continue;
        }
        if (facts.values++ == 0) first = value;
        if (facts.different < 2) facts.different = value == first ? 1 : 2;
      }
    });
    return facts;
  }
  facts.missing = std::ranges::count(column.codes, -1);
  facts.number_fields = column.number_fields;
  facts.text_fields = column.text_fields;
  facts.description = description_of_texts(column);
  std::vector<std::int64_t> times(column.vocabulary.size());
  for (std::int32_t const code : column.codes)
    if (code >= 0) ++times[static_cast<std::size_t>(code)];
  for (std::size_t code = 0; code < times.size(); ++code)
    if (times[code] > 0) facts.add(column.vocabulary[code], times[code]);
  return facts;
}

/// Returns one number per row, equal for equal values of the column; −1 for a missing value.
std::vector<std::int64_t> strata_of(data_table const& table, std::string const& column) {
  if (table.has_texts(column)) {
    text_column const by = table.texts(column);
    return {by.codes.begin(), by.codes.end()};
  }
  return with_real(table.number_type(), [&](auto* type) {
    using real = std::remove_pointer_t<decltype(type)>;
    std::vector<real> values;
    std::ranges::copy_if(table.numbers<real>(column), std::back_inserter(values),
                         [](real value) { return is_finite(value); });
    std::ranges::sort(values);
    std::vector<std::int64_t> strata;
    for (real const value : table.numbers<real>(column))
      strata.push_back(is_finite(value) ? std::ranges::lower_bound(values, value) - values.begin() : -1);
    return strata;
  });
}

}  // namespace cohort::detail

namespace cohort {

std::vector<data_table> split(data_table const& table, std::vector<double> const& fractions,
                              table_split_settings const& settings) {
  detail::check_fractions(fractions);
  std::vector<std::int64_t> const labels = settings.stratified_by.empty()
                                               ? std::vector<std::int64_t>()
                                               : detail::strata_of(table, settings.stratified_by);
  std::vector<data_table> parts;
  for (std::vector<std::int64_t> const& rows :
       detail::divide(detail::order_to_divide(table.rows(), labels, settings.seed, "split"), fractions))
    parts.push_back(table.select(rows));
  return parts;
}

table_split split(data_table const& table, double training_fraction, table_split_settings const& settings) {
  std::vector<data_table> parts =
      split(table, std::vector<double>{training_fraction, 1 - training_fraction}, settings);
  return {std::move(parts[0]), std::move(parts[1])};
}

}  // namespace cohort
