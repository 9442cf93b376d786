// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/data/detail/number_format.hpp>
#include <cohort/data/detail/table_values.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/detail/nearest_name.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/transform/detail/row_frame.hpp>
#include <cohort/transform/detail/time_text.hpp>
#include <limits>
#include <optional>
#include <utility>

namespace cohort::detail {

row_frame::row_frame(std::string where, std::size_t rows) : content_(std::make_shared<table_content>()) {
  content_->where = std::move(where);
  content_->number_type = element_type::f64;
  content_->rows = static_cast<int>(rows);
  content_->row_numbers.resize(rows);
}

std::size_t row_frame::index(std::string_view name) const { return content_->by_name.find(name)->second; }

table_column const& row_frame::column(std::string_view name) const { return content_->columns[index(name)]; }
table_column& row_frame::column(std::string_view name) { return content_->columns[index(name)]; }
column_schema& row_frame::schema_of(std::string_view name) { return schema_.columns[index(name)]; }

void row_frame::update_names() {
  content_->names.clear();
  content_->by_name.clear();
  for (std::size_t c = 0; c < schema_.columns.size(); ++c) {
    content_->names.push_back(schema_.columns[c].name);
    content_->by_name.emplace(schema_.columns[c].name, c);
  }
}

void row_frame::append(frame_column column) {
  content_->names.push_back(column.schema.name);
  content_->by_name.emplace(column.schema.name, schema_.columns.size());
  schema_.columns.push_back(std::move(column.schema));
  content_->columns.push_back(std::move(column.values));
}

void row_frame::replace(std::string_view name, std::vector<frame_column> columns) {
  auto const at = static_cast<std::ptrdiff_t>(index(name));
  schema_.columns.erase(schema_.columns.begin() + at);
  content_->columns.erase(content_->columns.begin() + at);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::ptrdiff_t const to = at + static_cast<std::ptrdiff_t>(i);
    schema_.columns.insert(schema_.columns.begin() + to, std::move(columns[i].schema));
    content_->columns.insert(content_->columns.begin() + to, std::move(columns[i].values));
  }
  update_names();
}

void row_frame::erase(std::string_view name) { replace(name, {}); }

void row_frame::rename(std::string_view from, std::string const& to) {
  schema_of(from).name = to;
  update_names();
}

void row_frame::keep(std::vector<std::string> const& names) {
  table_schema schema;
  std::vector<table_column> columns;
  for (std::string const& name : names) {
    schema.columns.push_back(std::move(schema_of(name)));
    columns.push_back(std::move(column(name)));
  }
  schema_ = std::move(schema);
  content_->columns = std::move(columns);
  update_names();
}

void row_frame::remove(std::vector<char> const& flags) {
  auto const compress = [&](auto& values) {
    if (values.empty()) return;
    std::size_t to = 0;
    for (std::size_t row = 0; row < flags.size(); ++row)
      if (flags[row] == 0) values[to++] = values[row];
    values.resize(to);
  };
  for (table_column& one : content_->columns) {
    compress(one.f64);
    compress(one.codes);
  }
  compress(content_->row_numbers);
  content_->rows = static_cast<int>(content_->row_numbers.size());
}

data_table row_frame::release() {
  for (table_column& one : content_->columns)
    if (one.is_text && one.first_text.empty()) one.first_text = "texts";
  return data_table(std::exchange(content_, std::make_shared<table_content>()));
}

void row_removal::filter(std::size_t row) {
  flags_[row] = 1;
  any_ = true;
  ++report_.removed;
}

std::string place_of_row(std::string_view file, std::string_view column, std::int64_t row, int rank) {
  std::string place(file);
  if (!column.empty()) place += text_of({", column ", column});
  place += text_of({", row ", row});
  return rank < 0 ? place : place + text_of({", rank ", rank});
}

void write_report(byte_writer& out, transform_report const& report) {
  for (std::int64_t const count : {report.rows, report.removed, report.skipped})
    out.word(static_cast<std::uint64_t>(count));
  out.word(report.problems.size());
  for (std::string const& problem : report.problems) out.text(problem);
}

transform_report read_report(byte_reader& in) {
  transform_report report;
  for (std::int64_t* const count : {&report.rows, &report.removed, &report.skipped})
    *count = static_cast<std::int64_t>(in.word());
  for (std::size_t left = in.count(8); left > 0; --left) report.problems.emplace_back(in.text());
  return report;
}

void refuse_row(transform_settings const& how, transform_report& report, refusal why) {
  data_error const refused(std::move(why));
  if (how.bad == bad_record::stop) throw refused;
  ++report.skipped;
  if (report.problems.size() < transform_report::max_problems) report.problems.emplace_back(refused.what());
  if (how.log) how.log(refused.what());
}

void row_removal::refuse(std::size_t row, char const* what, std::string_view column, std::string expected,
                         std::string got) {
  if (flags_[row] != 0) return;
  refuse_row(
      how_, report_,
      {.what = what,
       .where = place_of_row(frame_.content().where, column, number_of_row(frame_.content(), row), how_.rank),
       .expected = std::move(expected),
       .got = std::move(got)});
  flags_[row] = 1;
  any_ = true;
}

void row_removal::finish() {
  if (any_) frame_.remove(flags_);
}

/// Returns what a column accepts, for messages.
std::string accepted_by(column_schema const& column) {
  std::string accepted = !column.format.empty() ? "a time in the format " + quote_for_error(column.format)
                         : column.type == column_type::integer ? "a whole number"
                         : column.type == column_type::time    ? "a time such as 2026-11-25T22:30:00Z"
                                                               : "a number";
  if (column.type == column_type::integer && !column.lowest && !column.highest) accepted += " below 2^53";
  if (column.lowest) accepted += text_of({" of at least ", *column.lowest});
  if (column.highest)
    accepted += text_of({column.lowest ? " and at most " : " of at most ", *column.highest});
  return accepted;
}

/// Returns what a column accepts in place of a text, for messages.
std::string accepted_by(column_schema const& column, std::string_view text) {
  std::string accepted = accepted_by(column);
  if (column.type != column_type::time) return accepted;
  std::vector<std::string> const formats = time_formats_of(text);
  for (std::size_t i = 0; i < formats.size(); ++i)
    accepted += (i == 0 ? "; or in the column's schema the format " : " or ") + quote_for_error(formats[i]);
  return accepted;
}

inline bool accepts_number(column_schema const& column, double value) {
  if (column.type == column_type::integer
      && !(std::abs(value) < 9007199254740992.0 && value == std::floor(value)))
    return false;
  return (!column.lowest || value >= *column.lowest) && (!column.highest || value <= *column.highest);
}

/// Parses a text in a column of numbers. `signs`: those of the table's numbers.
std::optional<double> parse_number(column_schema const& column, number_format const& signs,
                                   std::string_view text) {
  text = trimmed(text);
  if (!column.format.empty()) return parse_time(text, column.format);
  if (column.type == column_type::time)
    if (auto const time = parse_time(text)) return time;
  double value = 0;
  if (!signs.parse(text, value) || !is_finite(value)) return {};
  return value;
}

/// Refuses numbers in place of texts in a column of times with a format.
template <class T>
void check_format(data_table const& table, column_schema const& column, std::span<T const> values) {
  if (column.format.empty()) return;
  auto const first = std::ranges::find_if(values, [](T value) { return is_finite(value); });
  if (first != values.end())
    refuse_value(table, "a column of times with a format contains numbers", column.name,
                 static_cast<std::size_t>(first - values.begin()),
                 "texts: read the table with the settings format_of(schema)",
                 text_of({static_cast<double>(*first)}));
}

date_check::date_check(table_schema const& schema) {
  for (column_schema const& column : schema.columns)
    if (column.type == column_type::time && column.format.empty()) columns_.push_back({.name = column.name});
}

void date_check::add(data_table const& rows, int rank) {
  with_real(rows.number_type(), [&](auto* type) {
    using real = std::remove_pointer_t<decltype(type)>;
    for (column& to : columns_) {
      if (to.has_seconds || !rows.has(to.name) || rows.has_texts(to.name)) continue;
      std::span<real const> const values = rows.numbers<real>(to.name);
      for (std::size_t row = 0; row < values.size() && !to.has_seconds; ++row) {
        if (!is_finite(values[row])) continue;
        to.has_seconds = !is_date_of_digits(values[row]);
        if (!to.first.empty()) continue;
        to.first = text_of({static_cast<double>(values[row])});
        to.where = place_of_row(rows.name(), to.name, rows.row_number(static_cast<int>(row)), rank);
      }
    }
  });
}

void date_check::write(byte_writer& out) const {
  for (column const& from : columns_) out.word(from.has_seconds ? 1 : 0).text(from.where).text(from.first);
}

void date_check::merge(byte_reader& in) {
  for (column& to : columns_) {
    to.has_seconds = in.word() != 0 || to.has_seconds;
    std::string_view const where = in.text(), first = in.text();
    if (!to.first.empty()) continue;
    to.where = where;
    to.first = first;
  }
}

void date_check::check() const {
  for (column const& times : columns_)
    if (!times.has_seconds && !times.first.empty())
      throw data_error({.what = "a column of times contains numbers that are dates",
                        .where = times.where,
                        .expected = "seconds since 1970; or in the column's schema the format \"%Y%m%d\"; or "
                                    "the type number if the numbers are no times",
                        .got = times.first});
}

/// Reads a column of numbers.
template <class T>
table_column numbers_in(data_table const& table, column_schema const& column, row_removal& bad) {
  constexpr double missing = std::numeric_limits<double>::quiet_NaN();
  table_column made;
  auto const rows = static_cast<std::size_t>(table.rows());
  made.f64.reserve(rows);
  auto const add = [&](std::size_t row, double value) {
    made.f64.push_back(is_finite(value) ? value : missing);
    if (is_finite(value) ? !accepts_number(column, value) : is_infinite(value))
      bad.refuse(row, schema_mismatch, column.name, accepted_by(column), text_of({value}));
  };
  if (!table.has_texts(column.name)) {
    std::span<T const> const from = table.numbers<T>(column.name);
    check_format(table, column, from);
    for (std::size_t row = 0; row < rows; ++row) add(row, static_cast<double>(from[row]));
    return made;
  }
  text_column const texts = table.texts(column.name);
  std::vector<std::optional<double>> parsed;
  std::vector<std::string> accepted(texts.vocabulary.size());  // for messages; empty: not needed yet
  for (std::string const& text : texts.vocabulary)
    parsed.push_back(parse_number(column, number_format_of(table), text));
  for (std::size_t row = 0; row < rows; ++row) {
    std::int32_t const code = texts.codes[row];
    std::optional<double> const value =
        code < 0 ? std::optional(missing) : parsed[static_cast<std::size_t>(code)];
    if (value) {
      add(row, *value);
      continue;
    }
    made.f64.push_back(missing);
    std::string& expected = accepted[static_cast<std::size_t>(code)];
    if (expected.empty()) expected = accepted_by(column, texts[row]);
    bad.refuse(row, schema_mismatch, column.name, expected, quote_for_error(texts[row]));
  }
  return made;
}

std::string listed_texts(std::vector<std::string> const& texts) {
  std::string list;
  for (std::size_t i = 0; i < texts.size() && i < 20; ++i)
    list += (i == 0 ? "" : ", ") + quote_for_error(texts[i]);
  if (texts.size() > 20) list += text_of({" and ", texts.size() - 20, " more"});
  return list;
}

/// Reads a column of texts.
template <class T>
table_column texts_in(data_table const& table, column_schema const& column, row_removal& bad) {
  table_column made;
  made.is_text = true;
  auto const rows = static_cast<std::size_t>(table.rows());
  if (column.type == column_type::category) {
    made.vocabulary = column.values;
    std::ranges::sort(made.vocabulary);
  }
  if (!table.has_texts(column.name)) {
    std::span<T const> const numbers = table.numbers<T>(column.name);
    if (std::ranges::any_of(numbers, [](T one) { return is_finite(one); })) table.texts(column.name);
    made.codes.assign(rows, -1);  // read_table stores a column without any text as missing numbers
    return made;
  }
  text_column const texts = table.texts(column.name);
  made.codes.assign(texts.codes.begin(), texts.codes.end());
  if (column.type == column_type::text) {
    made.vocabulary.assign(texts.vocabulary.begin(), texts.vocabulary.end());
    return made;
  }
  std::vector<std::int32_t> codes;
  for (std::string const& text : texts.vocabulary) {
    auto const found = std::ranges::lower_bound(made.vocabulary, text);
    codes.push_back(found != made.vocabulary.end() && *found == text
                        ? static_cast<std::int32_t>(found - made.vocabulary.begin())
                        : -1);
  }
  for (std::size_t row = 0; row < rows; ++row) {
    if (made.codes[row] < 0) continue;
    made.codes[row] = codes[static_cast<std::size_t>(made.codes[row])];
    if (made.codes[row] < 0)
      bad.refuse(row, schema_mismatch, column.name, "one of " + listed_texts(column.values),
                 quote_for_error(texts[row]));
  }
  return made;
}

inline bool is_missing(table_column const& column, std::size_t row) {
  return column.is_text ? column.codes[row] < 0 : !is_finite(column.f64[row]);
}

/// Returns the missing values of a column that a table lacks.
inline table_column missing_column(column_schema const& column, std::size_t rows) {
  table_column made;
  made.is_text = !column.has_numbers();
  if (column.type == column_type::category) {
    made.vocabulary = column.values;
    std::ranges::sort(made.vocabulary);
  }
  if (made.is_text)
    made.codes.assign(rows, -1);
  else
    made.f64.assign(rows, std::numeric_limits<double>::quiet_NaN());
  return made;
}

row_frame frame_of(data_table const& table, table_schema const& schema, transform_settings const& how,
                   transform_report& report) {
  row_frame frame(table.name(), static_cast<std::size_t>(table.rows()));
  std::int64_t const before = frame.rows() > 0 ? table.row_number(0) - 1 : 0;
  frame.content().rows_before = before;
  for (std::size_t row = 0; row < frame.rows(); ++row)
    frame.content().row_numbers[row] =
        static_cast<std::int32_t>(table.row_number(static_cast<int>(row)) - before);
  report.rows += table.rows();
  for (column_schema const& column : schema.columns)
    if (!column.optional && !table.has(column.name))
      throw data_error({.what = "a table lacks a column of the schema",
                        .where = {table.name(), how.rank < 0 ? "" : text_of({", rank ", how.rank})},
                        .expected = {"a column ", quote_for_error(column.name)},
                        .got = listed_columns(table.columns())});
  row_removal bad(frame, how, report);
  with_real(table.number_type(), [&](auto* type) {
    using real = std::remove_pointer_t<decltype(type)>;
    for (column_schema const& column : schema.columns) {
      frame_column made{.schema = column};
      if (!table.has(column.name))
        made.values = missing_column(column, frame.rows());
      else if (column.has_numbers())
        made.values = numbers_in<real>(table, column, bad);
      else
        made.values = texts_in<real>(table, column, bad);
      for (std::size_t row = 0; column.required && row < frame.rows(); ++row)
        if (is_missing(made.values, row))
          bad.refuse(row, schema_mismatch, column.name,
                     column.has_numbers() ? accepted_by(column) : std::string("a text"), "none");
      frame.append(std::move(made));
    }
  });
  bad.finish();
  return frame;
}

}  // namespace cohort::detail
