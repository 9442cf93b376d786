// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/communicator/all_or_none.hpp>
#include <cohort/communicator/require_same.hpp>
#include <cohort/detail/hash.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/json_writer.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/transform/detail/column_statistics.hpp>
#include <cohort/transform/detail/pass_plan.hpp>
#include <cohort/transform/detail/pipeline_json.hpp>
#include <cohort/transform/detail/pipeline_steps.hpp>
#include <cohort/transform/detail/row_frame.hpp>
#include <cohort/transform/fitted_pipeline.hpp>
#include <utility>

namespace cohort::detail {

/// Runs one pass over this rank's training rows, and adds them to the statistics and the check of dates.
void gather_statistics(pipeline_program const& program, pass_plan const& plan, table_pieces const& training,
                       transform_settings const& how, std::vector<step_statistics>& statistics,
                       date_check& dates, transform_report& report) {
  training([&](data_table const& piece) {
    row_frame frame = frame_of(piece, program.how.schema, how, report);
    dates.add(piece, how.rank);
    auto next = statistics.begin();
    for (std::size_t i = 0; i < plan.steps.size() && next != statistics.end(); ++i) {
      if (plan.steps[i].action == step_action::apply) apply_step(program, i, frame, how, report);
      if (plan.steps[i].action == step_action::gather) (next++)->add(frame.content());
      for (std::string const& name : plan.steps[i].forget) frame.erase(name);
    }
  });
}

/// Returns empty statistics for the steps that learn from a pass.
std::vector<step_statistics> statistics_of(pipeline_program const& program, pass_plan const& plan,
                                           std::size_t max_distinct) {
  std::vector<step_statistics> all;
  table_schema schema = program.how.schema;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (plan.steps[i].action == step_action::apply) schema = schema_after(program, i, std::move(schema));
    if (plan.steps[i].action == step_action::gather) all.emplace_back(program, i, schema, max_distinct);
    std::erase_if(schema.columns, [&](column_schema const& one) {
      return std::ranges::find(plan.steps[i].forget, one.name) != plan.steps[i].forget.end();
    });
  }
  return all;
}

std::vector<std::byte> bytes_of_pass(std::vector<step_statistics> const& statistics, date_check const& dates,
                                     transform_report const& report) {
  byte_writer out;
  write_report(out, report);
  dates.write(out);
  for (step_statistics const& one : statistics) one.write(out);
  return out.release();
}

/// Returns the program of a pipeline. Compares the ranks' pipelines first, so that all ranks refuse an
/// invalid pipeline.
std::shared_ptr<pipeline_program> same_program(transform_pipeline how, communicator& world,
                                               transform_settings const& rows) {
  std::string text;
  all_or_none(world, "fitted_pipeline", "cannot fit the pipeline", [&] { text = to_json(how); });
  shared_fact const same[]{{"pipeline", text},
                           {"bad rows", rows.bad == bad_record::skip ? "skip" : "stop"},
                           {"max_distinct", text_of({rows.max_distinct})}};
  require_same(world, "fitted_pipeline", same);
  return std::make_shared<pipeline_program>(std::move(how));
}

void merge_pass(std::span<std::byte const> bytes, int rank, std::vector<step_statistics>& statistics,
                date_check& dates, transform_report& report) {
  byte_reader in(bytes, text_of({"statistics of rank ", rank}));
  report.add(read_report(in));
  dates.merge(in);
  for (step_statistics& one : statistics) one.merge(in);
  in.end();
}

/// Codec that returns a JSON value unread.
struct value_codec {
  static void read(io::json_value from, io::json_value& value) { value = from; }
};

/// Visits the values that a step has learned about a column. `has_text`: whether impute has learned a text.
template <class Visitor>
void learned_fields(Visitor& v, fitted_column& s, transform_step const& step, bool has_text) {
  v.field("column", s.column, text_codec{});
  if (std::holds_alternative<pipeline::categories>(step)) {
    v.field("values", s.values, texts_codec);
  } else if (std::holds_alternative<pipeline::normalise>(step)) {
    v.field("zero", s.zero, any_real);
    v.field("unit", s.unit, any_real);
  } else if (has_text) {
    v.field("text", s.text, text_codec{});
  } else {
    v.field("number", s.number, any_real);
  }
}

void write_learned(io::json_writer& out, pipeline_program const& program, std::size_t step,
                   table_schema const& schema) {
  fields_writer writer{out};
  for (fitted_column learned : *program.fitted[step]) {
    out.begin_object(io::json_lines::one);
    learned_fields(writer, learned, program.how.steps[step], !schema.find(learned.column)->has_numbers());
    out.end_object();
  }
}

/// Refuses a learned text that no row can contain.
void expect_no_nul(io::json_value value, std::string_view text) {
  if (text.find('\0') != text.npos) value.refuse("no NUL bytes", quote_for_error(text));
}

fitted_column read_learned(io::json_value value, pipeline_program const& program, std::size_t step,
                           std::string const& column) {
  fitted_column made;
  fields_reader reader(value, true);
  auto const text = value.find("text");
  learned_fields(reader, made, program.how.steps[step], text.has_value());
  reader.finish();
  if (text) expect_no_nul(*text, made.text);
  if (made.column != column) value.at("column").refuse(quote_for_error(column));
  if (!(made.unit > 0) || !is_finite(1 / made.unit)) value.at("unit").refuse("a number above 0");
  if (auto const* const categories = std::get_if<pipeline::categories>(&program.how.steps[step])) {
    for (std::string const& one : made.values) expect_no_nul(value.at("values"), one);
    if (made.values.empty()) value.at("values").refuse("at least 1 text");
    bool const has_other = !categories->other.empty();
    std::span<std::string const> sorted = made.values;
    if (has_other && made.values.back() == categories->other) sorted = sorted.first(sorted.size() - 1);
    bool const is_sorted = std::ranges::adjacent_find(sorted, std::ranges::greater_equal()) == sorted.end();
    bool const twice =
        sorted.size() < made.values.size() && std::ranges::find(sorted, categories->other) != sorted.end();
    if (!is_sorted || twice
        || (has_other && std::ranges::find(made.values, categories->other) == made.values.end()))
      value.at("values").refuse("different texts in ascending order, and `other` of the step");
  }
  return made;
}

/// Throws data_error if the values that a step has learned do not match the types of its columns.
void check_learned(io::json_value value, pipeline_program const& program, std::size_t step,
                   table_schema const& schema) {
  if (!std::holds_alternative<pipeline::impute>(program.how.steps[step])) return;
  for (std::size_t c = 0; c < program.fitted[step]->size(); ++c) {
    fitted_column const& one = (*program.fitted[step])[c];
    column_schema const& column = *schema.find(one.column);
    if (column.has_numbers() == value.at(c).find("text").has_value())
      value.refuse(
          column.has_numbers() ? "a number for each column of numbers" : "a text for each column of texts",
          "another value for " + quote_for_error(one.column));
    if (column.type == column_type::category
        && std::ranges::find(column.values, one.text) == column.values.end())
      value.refuse("one of the values of the category " + quote_for_error(one.column),
                   quote_for_error(one.text));
  }
}

}  // namespace cohort::detail

namespace cohort {

fitted_pipeline::fitted_pipeline(std::shared_ptr<detail::pipeline_program> program)
    : program_(std::move(program)) {}

fitted_pipeline::fitted_pipeline(transform_pipeline how, data_table const& training,
                                 transform_settings const& rows)
    : fitted_pipeline(
        std::move(how), [&](auto const& use) { use(training); }, rows) {}

fitted_pipeline::fitted_pipeline(transform_pipeline how, table_pieces const& training,
                                 transform_settings const& rows)
    : fitted_pipeline(std::make_shared<detail::pipeline_program>(std::move(how))) {
  fit(training, nullptr, rows);
}

fitted_pipeline::fitted_pipeline(transform_pipeline how, data_table const& part, communicator& world,
                                 transform_settings const& rows)
    : fitted_pipeline(
        std::move(how), [&](auto const& use) { use(part); }, world, rows) {}

fitted_pipeline::fitted_pipeline(transform_pipeline how, table_pieces const& part, communicator& world,
                                 transform_settings const& rows)
    : fitted_pipeline(detail::same_program(std::move(how), world, rows)) {
  fit(part, &world, rows);
}

void fitted_pipeline::fit(table_pieces const& training, communicator* world, transform_settings const& rows) {
  detail::plan_of(*program_, detail::plan_purpose::check);
  transform_settings how = rows;
  if (world && world->size() > 1) how.rank = world->rank();
  auto const is_ready = [&] {
    for (std::size_t i = 0; i < program_->row_steps; ++i)
      if (!program_->is_ready(i)) return false;
    return true;
  };
  std::vector<std::string> notices;
  bool first = true;
  while (first || !is_ready()) {
    first = false;
    detail::pass_plan const plan = detail::plan_of(*program_, detail::plan_purpose::pass);
    std::vector<detail::step_statistics> mine = detail::statistics_of(*program_, plan, how.max_distinct);
    std::vector<detail::step_statistics> whole = mine;
    detail::date_check read_dates(program_->how.schema), dates = read_dates;
    transform_report read;
    auto const pass = [&] {
      detail::gather_statistics(*program_, plan, training, how, mine, read_dates, read);
    };
    program_->report = {};
    auto const merge = [&](std::span<std::byte const> bytes, int rank) {
      detail::merge_pass(bytes, rank, whole, dates, program_->report);
    };
    if (world) {
      all_or_none(*world, "fitted_pipeline", "cannot fit the pipeline", pass);
      gathered const all = world->allgatherv(detail::bytes_of_pass(mine, read_dates, read));
      for (int rank = 0; rank < world->size(); ++rank) merge(all.of(rank), rank);
    } else {
      pass();
      merge(detail::bytes_of_pass(mine, read_dates, read), 0);
    }
    dates.check();
    for (detail::step_statistics const& one : whole) {
      program_->fitted[one.step()] = one.result();
      one.check(notices);
    }
  }
  if (how.log && how.rank <= 0)
    for (std::string const& notice : notices) how.log(notice);
  program_->report.notices = std::move(notices);
  finish();
}

void fitted_pipeline::finish() {
  program_->schema = detail::plan_of(*program_, detail::plan_purpose::check).schema;
  for (column_schema& column : program_->schema.columns) column.format.clear();  // prepared times are numbers
  program_->fingerprint = detail::fnv1a(to_json(*this));
}

data_table fitted_pipeline::apply(data_table const& rows, transform_settings const& how,
                                  transform_report* report) const {
  transform_report counts;
  detail::row_frame frame = detail::frame_of(rows, program_->how.schema, how, counts);
  for (std::size_t i = 0; i < program_->row_steps; ++i) detail::apply_step(*program_, i, frame, how, counts);
  if (report) report->add(counts);
  frame.content().pipeline = fingerprint();
  return frame.release();
}

std::optional<table_row> fitted_pipeline::apply(table_row const& row) const {
  data_table const made = apply(table_of(program_->how.schema, {row}, "a row"));
  if (made.rows() == 0) return std::nullopt;
  table_row values;
  for (column_schema const& column : schema().columns) {
    row_value& value = values.emplace_back();  // missing
    if (column.has_numbers()) {
      double const number = made.numbers<double>(column.name)[0];
      if (is_finite(number)) value = number;
    } else {
      text_column const texts = made.texts(column.name);
      if (texts.codes[0] >= 0) value = std::string(texts[0]);
    }
  }
  return values;
}

table_pieces fitted_pipeline::apply(table_pieces rows, transform_settings const& how,
                                    transform_report* report) const {
  return [fitted = *this, rows = std::move(rows), how, report](auto const& use) {
    rows([&](data_table const& piece) { use(fitted.apply(piece, how, report)); });
  };
}

transform_pipeline const& fitted_pipeline::description() const& { return program_->how; }
table_schema const& fitted_pipeline::schema() const& { return program_->schema; }
transform_report const& fitted_pipeline::report() const& { return program_->report; }
std::uint64_t fitted_pipeline::fingerprint() const { return program_->fingerprint; }

std::vector<fitted_column> const& fitted_pipeline::learned(std::size_t step) const& {
  static std::vector<fitted_column> const nothing;
  if (step >= program_->fitted.size())
    throw setting_error({.what = "the pipeline has no such step",
                         .where = "fitted_pipeline::learned",
                         .expected = {"a step below ", program_->fitted.size()},
                         .got = {step}});
  return program_->fitted[step] ? *program_->fitted[step] : nothing;
}

bool operator==(fitted_pipeline const& a, fitted_pipeline const& b) {
  return a.program_->how == b.program_->how && a.program_->fitted == b.program_->fitted;
}

std::string to_json(fitted_pipeline const& fitted) {
  detail::pipeline_program const& program = fitted.program();
  io::json_writer out(2);
  out.begin_object();
  detail::fields_writer writer{out};
  transform_pipeline how = program.how;
  detail::file_fields(writer, how);
  out.key("learned").begin_array();
  table_schema schema = program.how.schema;
  for (std::size_t i = 0; i < program.fitted.size(); ++i) {
    out.begin_array();
    if (program.fitted[i]) detail::write_learned(out, program, i, schema);
    out.end_array();
    schema = detail::schema_after(program, i, std::move(schema));
  }
  return out.end_array().end_object().text();
}

fitted_pipeline fitted_pipeline::from(io::json_value root) {
  transform_pipeline how;
  io::json_value learned = root;
  detail::fields_reader reader(root, true);
  detail::file_fields(reader, how);
  reader.field("learned", learned, detail::value_codec{});
  reader.finish();
  std::shared_ptr<detail::pipeline_program> program;
  auto const with_path = [](io::json_value value, auto work) {
    try {
      work();
    } catch (setting_error const& refused) {
      value.refuse("a pipeline whose steps match the schema", refused.what());
    }
  };
  with_path(root.at("steps"), [&] { program = std::make_shared<detail::pipeline_program>(std::move(how)); });
  if (learned.kind() != io::json_kind::array || learned.size() != program->how.steps.size())
    learned.refuse(detail::text_of({"a list of ", program->how.steps.size(), " lists, one per step"}));
  table_schema schema = program->how.schema;
  for (std::size_t i = 0; i < program->how.steps.size(); ++i) {
    std::vector<std::string> const columns =
        program->learns(i) ? detail::columns_read_by(*program, i) : std::vector<std::string>();
    io::json_value const list = learned.at(i);
    if (list.kind() != io::json_kind::array || list.size() != columns.size())
      list.refuse(detail::text_of({"a list of ", columns.size(), " objects"}));
    if (program->learns(i)) {
      std::vector<fitted_column>& made = program->fitted[i].emplace();
      for (std::size_t c = 0; c < columns.size(); ++c)
        made.push_back(detail::read_learned(list.at(c), *program, i, columns[c]));
    }
    with_path(root.at("steps").at(i), [&] { detail::check_step(*program, i, schema); });
    if (program->learns(i)) detail::check_learned(list, *program, i, schema);
    schema = detail::schema_after(*program, i, std::move(schema));
  }
  fitted_pipeline made(std::move(program));
  made.finish();
  return made;
}

fitted_pipeline fitted_pipeline::from_json(std::string_view text, std::string_view name) {
  io::json_document const parsed = detail::parse_pipeline(text, name);
  return from(parsed.root());
}

}  // namespace cohort
