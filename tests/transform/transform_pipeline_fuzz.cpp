// SPDX-License-Identifier: Apache-2.0
// Malformed pipelines and expressions: a text is refused by an error with its position, or it becomes a
// pipeline. The pipeline is unchanged after it is written and read again; it fits and transforms rows.
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/transform_transform_pipeline_fuzz some/folder tests/transform/transform_pipeline_fuzz
#include <algorithm>
#include <cmath>
#include <cohort/data/detail/table_content.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/transform/detail/row_expression.hpp>
#include <cohort/transform/keyed_sequences.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace cohort;

void require(bool holds) {
  if (!holds) std::abort();
}

/// Four rows of a schema: some values are missing.
data_table rows_of(table_schema const& schema) {
  std::vector<table_row> rows(4);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t c = 0; c < schema.columns.size(); ++c) {
      column_schema const& column = schema.columns[c];
      if ((r + c) % 4 == 3)
        rows[r].emplace_back();
      else if (column.has_numbers())
        rows[r].emplace_back(column.lowest.value_or(0) + static_cast<double>(r * c));
      else
        rows[r].emplace_back(column.values.empty() ? std::string(1 + r % 3, 'a')
                                                   : column.values[r % column.values.size()]);
    }
  return table_of(schema, rows);
}

/// Fits a valid pipeline and transforms rows, one by one and together.
void use(transform_pipeline const& how) {
  if (how.schema.columns.size() > 16 || how.steps.size() > 16) return;
  data_table const rows = rows_of(how.schema);
  transform_settings const skip{.bad = bad_record::skip};
  fitted_pipeline const fitted(how, rows, skip);
  require(fitted_pipeline::from_json(to_json(fitted)) == fitted);
  transform_report report;
  data_table const made = fitted.apply(rows, skip, &report);
  require(report.rows == 4 && report.kept() == made.rows());
  require(made.columns().size() == fitted.schema().columns.size());
  bool const groups = std::ranges::any_of(how.steps, [](transform_step const& step) {
    return std::holds_alternative<pipeline::group_by_key>(step);
  });
  if (groups) {
    keyed_sequences const sequences(fitted, rows, skip);
    require(sequences.rows().rows() <= made.rows());
  }
  std::int64_t kept = 0;
  for (std::int64_t row = 0; row < 4; ++row) {
    std::vector<std::int64_t> const one{row};
    data_table const alone = fitted.apply(rows.select(one), skip);
    for (column_schema const& column : fitted.schema().columns) {
      if (alone.rows() == 0) continue;
      if (!column.has_numbers()) {
        require(made.texts(column.name)[static_cast<std::size_t>(kept)] == alone.texts(column.name)[0]);
        continue;
      }
      double const a = made.numbers<double>(column.name)[static_cast<std::size_t>(kept)],
                   b = alone.numbers<double>(column.name)[0];
      require(a == b || (std::isnan(a) && std::isnan(b)));
    }
    kept += alone.rows();
  }
  require(kept == made.rows());
}

void parse_expression(std::string_view text) {
  static table_schema const schema{{{.name = "a"},
                                    {.name = "b", .type = column_type::text},
                                    {.name = "t", .type = column_type::time},
                                    {.name = "c", .type = column_type::category, .values = {"x", "y"}}}};
  static data_table const rows = rows_of(schema);
  try {
    transform_pipeline const how{schema, {pipeline::derive{"made", std::string(text)}}};
    detail::row_expression const parsed(text, "text");
    require(parsed.nodes().size() <= detail::row_expression::max_operations);
    fitted_pipeline(how, rows, {.bad = bad_record::skip}).apply(rows, {.bad = bad_record::skip});
  } catch (setting_error const& refused) {
    // A text with a character 0 is refused before it is parsed.
    require(text.find('\0') != text.npos
            || std::string_view(refused.why().where).find(", character ") != std::string_view::npos);
  }
}

}  // namespace

/// The text up to the first character 0 is a pipeline, fitted or not. An expression follows.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  // A copy of exactly this size, so that the address sanitizer detects reads past the end.
  std::vector<char> const copy(data, data + size);
  std::string_view const all(copy.data(), copy.size());
  std::size_t const end = std::min(all.find('\0'), all.size());
  try {
    fitted_pipeline const fitted = fitted_pipeline::from_json(all.substr(0, end), "text");
    require(fitted_pipeline::from_json(to_json(fitted)) == fitted);
    if (fitted.description().schema.columns.size() <= 16)
      fitted.apply(rows_of(fitted.description().schema), {.bad = bad_record::skip});
  } catch (data_error const& refused) {
    require(std::string_view(refused.why().where).starts_with("text"));
  }
  try {
    transform_pipeline const how = transform_pipeline::from_json(all.substr(0, end), "text");
    require(transform_pipeline::from_json(to_json(how)) == how);
    how.check();
    use(how);
  } catch (setting_error const& refused) {
    require(!refused.why().where.empty() && !refused.why().expected.empty());
  } catch (data_error const& refused) {
    require(!refused.why().where.empty());
  }
  if (end < all.size()) parse_expression(all.substr(end + 1));
  return 0;
}
