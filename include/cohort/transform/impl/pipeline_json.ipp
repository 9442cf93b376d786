// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cohort/data/detail/rescaling_names.hpp>
#include <cohort/error/detail/nearest_name.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/json_string.hpp>
#include <cohort/io/detail/schema_writers.hpp>
#include <cohort/io/json.hpp>
#include <cohort/transform/detail/pipeline_json.hpp>
#include <limits>
#include <type_traits>
#include <utility>

namespace cohort::detail {

void expect_fields(io::json_value object, std::span<std::string_view const> known) {
  if (object.kind() != io::json_kind::object) object.refuse("an object");
  for (io::json_value const one : object.items()) {
    bool is_known = false;
    for (std::string_view const name : known) is_known = is_known || name == one.key();
    if (!is_known)
      one.refuse("one of the fields " + names_and_nearest(one.key(), known), quote_for_error(one.key()));
  }
}

void expect_version(io::json_value root, int version) {
  if (root.kind() != io::json_kind::object) root.refuse("an object");
  io::json_value const given = root.at("version");
  if (given.integer() != version)
    given.refuse(text_of({"version ", version}), text_of({"version ", given.integer()}));
}

void write_texts(io::json_writer& out, std::string_view name, std::span<std::string const> texts) {
  out.key(name).begin_array(io::json_lines::one);
  for (std::string const& text : texts) out.value(std::string_view(text));
  out.end_array();
}

/// Returns the elements of a list.  Errors: data_error for another value.
io::json_value::range items_of_list(io::json_value list) {
  if (list.kind() != io::json_kind::array) list.refuse("a list");
  return list.items();
}

std::vector<std::string> read_texts(io::json_value list) {
  std::vector<std::string> texts;
  for (io::json_value const one : items_of_list(list)) texts.emplace_back(one.string());
  return texts;
}

inline constexpr std::array<std::string_view, 4> replacement_names{"mean", "median", "most_frequent",
                                                                   "constant"};

template <class E>
E read_name(io::json_value value, char const* what, std::span<std::string_view const> names) {
  std::string_view const given = value.string();
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == given) return static_cast<E>(i);
  value.refuse(text_of({"one of the ", what, " ", names_and_nearest(given, names)}), quote_for_error(given));
}

void write_column(io::json_writer& out, column_schema const& column) {
  out.begin_object(io::json_lines::one).field("name", std::string_view(column.name));
  out.field("type", name_of(column.type));
  if (!column.values.empty()) write_texts(out, "values", column.values);
  if (column.lowest) out.field("lowest", *column.lowest);
  if (column.highest) out.field("highest", *column.highest);
  if (column.required) out.field("required", true);
  if (column.optional) out.field("optional", true);
  out.end_object();
}

/// Names of the types of columns, in their order.
std::array<std::string_view, 5> type_names() {
  std::array<std::string_view, 5> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = name_of(static_cast<column_type>(i));
  return names;
}

/// Writes the schema of a list of texts.
void write_texts_schema(io::json_writer& out, std::string_view name) {
  out.key(name).begin_object(io::json_lines::one).field("type", "array").key("items");
  write_type(out, "string");
  out.end_object();
}

column_schema read_column(io::json_value value) {
  constexpr std::array<std::string_view, 7> fields{"name",    "type",     "values",  "lowest",
                                                   "highest", "required", "optional"};
  expect_fields(value, fields);
  column_schema column{.name = std::string(value.at("name").string())};
  if (auto const type = value.find("type")) {
    column.type = read_name<column_type>(*type, "types", type_names());
  }
  if (auto const values = value.find("values")) column.values = read_texts(*values);
  if (auto const lowest = value.find("lowest")) column.lowest = lowest->number();
  if (auto const highest = value.find("highest")) column.highest = highest->number();
  if (auto const required = value.find("required")) column.required = required->boolean();
  if (auto const optional = value.find("optional")) column.optional = optional->boolean();
  return column;
}

/// Calls visitor(name, member) for each field of a step.
template <class Visitor, class Step>
void visit_fields(Visitor visitor, Step& step) {
  using type = std::remove_const_t<Step>;
  if constexpr (requires { step.columns; }) visitor("columns", step.columns);
  if constexpr (std::is_same_v<type, pipeline::filter>) {
    visitor("keep", step.keep);
  } else if constexpr (std::is_same_v<type, pipeline::derive>) {
    visitor("column", step.column);
    visitor("formula", step.formula);
  } else if constexpr (std::is_same_v<type, pipeline::categories>) {
    visitor("other", step.other);
  } else if constexpr (std::is_same_v<type, pipeline::normalise>) {
    visitor("how", step.how);
  } else if constexpr (std::is_same_v<type, pipeline::impute>) {
    visitor("with", step.with);
    visitor("number", step.number);
    visitor("text", step.text);
  } else if constexpr (std::is_same_v<type, pipeline::rename>) {
    visitor("from", step.from);
    visitor("to", step.to);
  } else if constexpr (std::is_same_v<type, pipeline::group_by_key>) {
    visitor("keys", step.keys);
    visitor("order", step.order);
  } else if constexpr (std::is_same_v<type, pipeline::windows>) {
    visitor("length", step.length);
    visitor("stride", step.stride);
    visitor("partial", step.partial);
  }
}

/// Writes one field of a step.
struct step_writer {
  io::json_writer& out;

  void operator()(char const* name, std::string const& value) const {
    out.field(name, std::string_view(value));
  }
  void operator()(char const* name, std::vector<std::string> const& value) const {
    write_texts(out, name, value);
  }
  void operator()(char const* name, rescaling value) const {
    out.field(name, rescaling_names[static_cast<std::size_t>(value)]);
  }
  void operator()(char const* name, pipeline::replacement value) const {
    out.field(name, replacement_names[static_cast<std::size_t>(value)]);
  }
  template <class Number>
  requires std::is_arithmetic_v<Number>
  void operator()(char const* name, Number value) const { out.field(name, value); }
};

/// Reads one field of a step, if it is given.
struct step_reader {
  io::json_value from;
  std::vector<std::string_view>& known;

  template <class T>
  void operator()(char const* name, T& value) const {
    known.emplace_back(name);
    if (auto const given = from.find(name)) read(*given, value);
  }

 private:
  static void read(io::json_value given, std::string& value) { value = given.string(); }
  static void read(io::json_value given, std::vector<std::string>& value) { value = read_texts(given); }
  static void read(io::json_value given, bool& value) { value = given.boolean(); }
  static void read(io::json_value given, double& value) { value = given.number(); }
  static void read(io::json_value given, int& value) {
    value = static_cast<int>(given.integer(0, std::numeric_limits<int>::max()));
  }
  static void read(io::json_value given, rescaling& value) {
    value = read_name<rescaling>(given, "rescalings", rescaling_names);
  }
  static void read(io::json_value given, pipeline::replacement& value) {
    value = read_name<pipeline::replacement>(given, "replacements", replacement_names);
  }
};

template <std::size_t I = 0>
transform_step step_of(std::size_t which) {
  if constexpr (I < std::variant_size_v<transform_step>) {
    if (which == I) return std::variant_alternative_t<I, transform_step>{};
    return step_of<I + 1>(which);
  } else {
    return {};
  }
}

transform_step read_step(io::json_value value) {
  if (value.kind() != io::json_kind::object || value.size() != 1)
    value.refuse("an object with one field, the name of a step");
  io::json_value const fields = *value.items().begin();
  std::size_t which = 0;
  while (which < step_names.size() && step_names[which] != fields.key()) ++which;
  if (which == step_names.size())
    fields.refuse("one of the steps " + names_and_nearest(fields.key(), step_names),
                  quote_for_error(fields.key()));
  if (fields.kind() != io::json_kind::object) fields.refuse("an object");
  transform_step step = step_of(which);
  std::vector<std::string_view> known;
  std::visit([&](auto& one) { visit_fields(step_reader{fields, known}, one); }, step);
  expect_fields(fields, known);
  return step;
}

void write_pipeline(io::json_writer& out, transform_pipeline const& how) {
  out.key("schema").begin_array();
  for (column_schema const& column : how.schema.columns) write_column(out, column);
  out.end_array().key("steps").begin_array();
  for (transform_step const& step : how.steps) {
    out.begin_object(io::json_lines::one).key(cohort::name_of(step)).begin_object(io::json_lines::one);
    std::visit([&](auto const& one) { visit_fields(step_writer{out}, one); }, step);
    out.end_object().end_object();
  }
  out.end_array();
}

table_schema read_schema(io::json_value list) {
  table_schema schema;
  for (io::json_value const one : items_of_list(list)) schema.columns.push_back(read_column(one));
  return schema;
}

std::vector<transform_step> read_steps(io::json_value list) {
  std::vector<transform_step> steps;
  for (io::json_value const one : items_of_list(list)) steps.push_back(read_step(one));
  return steps;
}

io::json_document parse_pipeline(std::string_view text, std::string_view name) {
  return io::parse_json(text, name, {.max_bytes = text.size(), .max_values = text.size()});
}

transform_pipeline read_pipeline(io::json_value object) {
  return {.schema = read_schema(object.at("schema")), .steps = read_steps(object.at("steps"))};
}

/// Writes the schema of one field of a step.
struct step_schema_writer {
  io::json_writer& out;

  void operator()(char const* name, std::string const&) const { write_type(out.key(name), "string"); }
  void operator()(char const* name, std::vector<std::string> const&) const { write_texts_schema(out, name); }
  void operator()(char const* name, rescaling) const { write_enum(out.key(name), rescaling_names); }
  void operator()(char const* name, pipeline::replacement) const {
    write_enum(out.key(name), replacement_names);
  }
  void operator()(char const* name, bool) const { write_type(out.key(name), "boolean"); }
  void operator()(char const* name, int) const {
    out.key(name).begin_object(io::json_lines::one).field("type", "integer");
    out.field("minimum", 0).field("maximum", std::numeric_limits<int>::max()).end_object();
  }
  void operator()(char const* name, double) const { write_type(out.key(name), "number"); }
};

void write_column_schema(io::json_writer& out) {
  out.begin_object().field("type", "object").field("additionalProperties", false);
  out.key("required").begin_array(io::json_lines::one).value("name").end_array();
  out.key("properties").begin_object();
  write_type(out.key("name"), "string");
  write_enum(out.key("type"), type_names());
  write_texts_schema(out, "values");
  write_type(out.key("lowest"), "number");
  write_type(out.key("highest"), "number");
  write_type(out.key("required"), "boolean");
  write_type(out.key("optional"), "boolean");
  out.end_object().end_object();
}

void write_pipeline_schema(io::json_writer& out) {
  out.key("schema").begin_object().field("type", "array").key("items");
  write_column_schema(out);
  out.end_object();
  out.key("steps").begin_object().field("type", "array").key("items");
  out.begin_object().field("type", "object").field("additionalProperties", false);
  out.field("minProperties", 1).field("maxProperties", 1).key("properties").begin_object();
  for (std::size_t k = 0; k < step_names.size(); ++k) {
    out.key(step_names[k]);
    transform_step const step = step_of(k);
    write_object_schema(
        out, [&] { std::visit([&](auto const& one) { visit_fields(step_schema_writer{out}, one); }, step); });
  }
  out.end_object().end_object().end_object();
}

}  // namespace cohort::detail

namespace cohort {

std::string_view name_of(transform_step const& step) { return detail::step_names[step.index()]; }

transform_pipeline transform_pipeline::from(io::json_value root) {
  constexpr std::array<std::string_view, 4> fields{"$schema", "version", "schema", "steps"};
  detail::expect_version(root, version);
  detail::expect_fields(root, fields);
  return detail::read_pipeline(root);
}

transform_pipeline transform_pipeline::from_json(std::string_view text, std::string_view name) {
  io::json_document const parsed = detail::parse_pipeline(text, name);
  return from(parsed.root());
}

std::string to_json(transform_pipeline const& how) {
  io::json_writer out(2);
  out.begin_object().field("version", transform_pipeline::version);
  detail::write_pipeline(out, how);
  return out.end_object().text();
}

}  // namespace cohort
