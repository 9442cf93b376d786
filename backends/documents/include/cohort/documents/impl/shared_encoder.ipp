// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/communicator/all_or_none.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cohort/data/data_table.hpp>
#include <cohort/data/table_encoder.hpp>
#include <cohort/documents/detail/shared_encoder.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/json.hpp>
#include <cohort/io/json_writer.hpp>
#include <cstddef>
#include <string>
#include <vector>

namespace cohort::detail {

namespace {

/// Returns the encoder that fits the tables of all ranks, from the encoders that fit one table each: a
/// vocabulary is the union of the ranks' vocabularies. `where`: for errors.
///
/// Before    the encoders have the same settings, and `impute` is neither mean nor median.
/// Errors    data_error if a column contains texts on one rank and numbers on another one.
table_encoder merged(std::vector<table_encoder> const& parts, std::string const& where) {
  auto const union_of = [&](auto const& texts_of) {
    std::vector<std::string> all;
    for (table_encoder const& part : parts) {
      std::vector<std::string> const& texts = texts_of(part);
      all.insert(all.end(), texts.begin(), texts.end());
    }
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  };
  auto const write = [](io::json_writer& out, char const* name, std::vector<std::string> const& texts) {
    if (texts.empty()) return;
    out.key(name).begin_array();
    for (std::string const& text : texts) out.value(text);
    out.end_array();
  };
  auto const require_same = [&](std::string const& column, auto const& has_texts) {
    for (std::size_t rank = 1; rank < parts.size(); ++rank)
      if (has_texts(parts[rank]) != has_texts(parts[0]))
        throw data_error(
            {.what = "a column contains texts on one rank and numbers on another one",
             .where = where + ", column " + column,
             .expected = "the same type on all ranks; format.text_columns and format.number_columns set it",
             .got = std::string(has_texts(parts[0]) ? "texts" : "numbers") + " on rank 0, "
                    + (has_texts(parts[rank]) ? "texts" : "numbers") + " on rank " + std::to_string(rank)});
  };
  table_encoder const& first = parts.front();
  for (table_encoder const& part : parts)
    if (part.columns().size() != first.columns().size())
      throw data_error({.what = "the tables of the ranks have different columns",
                        .where = where,
                        .expected = std::to_string(first.columns().size()) + " inputs, as on rank 0",
                        .got = std::to_string(part.columns().size())});
  io::json_writer out;
  out.begin_object().key("columns").begin_array();
  for (encoded_column const& column : first.columns()) {
    auto const in = [&](table_encoder const& part) -> encoded_column const& {
      return part.column(column.name);
    };
    require_same(column.name, [&](table_encoder const& part) { return in(part).is_text; });
    out.begin_object().field("name", column.name).field("is_text", column.is_text);
    out.field("indexed", column.indexed).field("other", column.other);
    if (column.fill) out.field("fill", *column.fill);
    write(out, "vocabulary",
          union_of([&](table_encoder const& part) -> auto const& { return in(part).vocabulary; }));
    out.end_object();
  }
  out.end_array();
  if (!first.target().empty()) {
    auto const has_names = [](table_encoder const& part) { return !part.label_names().empty(); };
    require_same(first.target(), has_names);
    out.field("target", first.target());
    auto const names = union_of([](table_encoder const& part) -> auto const& { return part.label_names(); });
    write(out, "label_names", names);
    auto classes = static_cast<int>(names.size());
    for (table_encoder const& part : parts)
      if (names.empty()) classes = std::max(classes, part.classes());
    if (classes > 0) out.field("classes", classes);
  }
  auto const parsed = io::parse_json(out.end_object().text());
  return table_encoder_from_json(parsed.root());
}

}  // namespace

table_encoder shared_encoder(communicator& world, data_table const& part, encoder_settings const& settings,
                             std::string const& where) {
  bool const is_learned = settings.impute == imputation::mean || settings.impute == imputation::median;
  if (is_learned)
    throw setting_error(
        {.what = "the mean or median of a column is not known if each rank has a table of its own",
         .where = "data.table.impute",
         .expected =
             "constant, refuse, or a step of data.table.transform, which is fitted to all ranks' rows",
         .got = settings.impute == imputation::mean ? "mean" : "median"});
  auto const outcome = outcome_of_all(world, "fit of a table's encoder",
                                      [&] { return to_json(table_encoder(part, settings)); });
  if (!outcome.trouble.empty())
    throw data_error(
        {.what = "the table of a rank cannot be encoded", .where = where, .got = outcome.trouble});
  std::vector<table_encoder> parts;
  for (std::string const& text : outcome.texts) {
    auto const parsed = io::parse_json(text);
    parts.push_back(table_encoder_from_json(parsed.root()));
  }
  return merged(parts, where);
}

}  // namespace cohort::detail
