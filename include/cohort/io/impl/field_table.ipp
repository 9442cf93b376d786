// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/json_string.hpp>
#include <cohort/detail/text.hpp>
#include <cohort/error/detail/nearest_name.hpp>
#include <cohort/io/detail/field_table.hpp>
#include <cohort/io/json.hpp>
#include <utility>

namespace cohort::detail {

void refuse_name(io::json_value at, std::string_view what, std::string_view got,
                 std::span<std::string_view const> known) {
  if (known.empty()) at.refuse("no field", quote_for_error(got));
  at.refuse(text_of({"one of the ", what, " ", names_and_nearest(got, known)}), quote_for_error(got));
}

std::size_t index_of_name(io::json_value at, std::string_view what, std::string_view name,
                          std::span<std::string_view const> known) {
  auto const found = std::find(known.begin(), known.end(), name);
  if (found == known.end()) refuse_name(at, what, name, known);
  return static_cast<std::size_t>(found - known.begin());
}

/// Returns the field of an object with a path such as "adam.beta1"; nullopt if there is none.
std::optional<io::json_value> find_path(io::json_value value, std::string_view path) {
  for (;;) {
    if (value.kind() != io::json_kind::object) return std::nullopt;
    std::size_t const end = std::min(path.find('.'), path.size());
    auto const field = value.find(path.substr(0, end));
    if (!field || end == path.size()) return field;
    value = *field;
    path.remove_prefix(end + 1);
  }
}

void refuse_setting(io::json_value value, setting_error const& refused) {
  refusal const& why = refused.why();
  if (auto const field = find_path(value, why.where); field && !why.expected.empty() && !why.got.empty())
    field->refuse(why.expected, why.got);
  std::string got = why.where.empty() ? why.what : why.where;
  if (!why.got.empty()) got += ' ' + why.got;
  value.refuse(why.expected.empty() ? std::string("valid settings") : std::string(why.expected),
               std::move(got));
}

chosen_name read_chosen_name(io::json_value value, std::string_view what) {
  if (value.kind() == io::json_kind::string) return {value.string(), std::nullopt};
  if (value.kind() != io::json_kind::object || value.size() != 1)
    value.refuse(text_of({"one of the ", what, ": a name, or an object with one field of that name"}));
  io::json_value const fields = *value.items().begin();
  if (fields.is_null()) return {fields.key(), std::nullopt};
  return {fields.key(), fields};
}

fields_reader::fields_reader(io::json_value object, bool is_complete)
    : object_(object), is_complete_(is_complete) {
  if (object.kind() != io::json_kind::object) object.refuse("an object");
}

void fields_reader::finish() const {
  for (io::json_value const field : object_.items()) index_of_name(field, "fields", field.key(), known_);
  if (missing_ >= 0) object_.at(known_[static_cast<std::size_t>(missing_)]);  // throws
}

void expect_fields_of(io::json_value written, io::json_value value) {
  if (written.kind() == io::json_kind::object) {
    if (value.kind() != io::json_kind::object) value.refuse("an object with all fields");
    for (io::json_value const field : written.items())
      if (!field.is_null()) expect_fields_of(field, value.at(field.key()));
  } else if (written.kind() == io::json_kind::array && value.kind() == io::json_kind::array) {
    for (std::size_t i = 0; i < written.size() && i < value.size(); ++i)
      expect_fields_of(written.at(i), value.at(i));
  }
}

void expect_fields_of(std::string const& written, io::json_value value) {
  io::json_document const parsed = io::parse_json(written, "fields");
  expect_fields_of(parsed.root(), value);
}

field_assignment::field_assignment(std::string_view path, std::string_view value, std::string_view origin)
    : value_(value), origin_(origin), parsed_(parse(path)) {}

io::json_document field_assignment::parse(std::string_view path) {
  auto const refuse_path = [&](std::string expected, std::string got) {
    throw data_error({.what = "cannot set a field of the document",
                      .where = origin_,
                      .expected = std::move(expected),
                      .got = std::move(got)});
  };
  std::string text, closing;
  for (std::string_view rest = path;;) {
    std::size_t const end = std::min(rest.find('.'), rest.size());
    std::string_view const name = rest.substr(0, end);
    if (name.find('[') != name.npos)
      refuse_path("a path without indices: a list is set as a whole", std::string(path));
    if (name.empty() || invalid_utf8_at(name) != name.size())
      refuse_path("a path such as training.batch", quote_for_error(path));
    text += '{';
    append_quoted(text, name);
    text += ':';
    closing += '}';
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  try {
    io::parse_json(value_, origin_);
    text += value_;
  } catch (data_error const& problem) {
    if (value_.starts_with('{') || value_.starts_with('[') || value_.starts_with('"')) {
      refusal const& why = problem.why();
      throw data_error({.what = "cannot set a field of the document: the value is not JSON",
                        .where = why.where,
                        .expected = why.expected,
                        .got = why.got});
    }
    if (invalid_utf8_at(value_) != value_.size()) refuse_path("UTF-8", quote_for_error(value_));
    append_quoted(text, value_);
    is_text_ = true;
  }
  return io::parse_json(text + closing, origin_);
}

void field_assignment::refuse(refusal const& why) const {
  std::size_t const path = why.where.find(", $");
  bool const is_scalar = !is_text_ && !value_.starts_with('{') && !value_.starts_with('[');
  bool const needs_quotes = is_scalar && why.expected == "a string";
  throw data_error({.what = "cannot set a field of the document",
                    .where = origin_ + (path == why.where.npos ? "" : why.where.substr(path)),
                    .expected = needs_quotes ? "a string: '\"" + value_ + "\"'" : std::string(why.expected),
                    .got = why.got});
}

/// Returns the text of a null, a boolean, a number or a string.
std::string text_of_scalar(io::json_value value) {
  if (value.is_null()) return "none";
  if (value.kind() == io::json_kind::boolean) return value.boolean() ? "true" : "false";
  if (value.kind() == io::json_kind::string) return std::string(value.string());
  if (!value.is_whole()) return text_of({value.number()});
  return value.number() < 0 ? text_of({value.integer()}) : text_of({value.unsigned_integer()});
}

void list_value(std::vector<field_text>& fields, std::string const& path, io::json_value value) {
  auto const list_members = [&](io::json_value object) {
    for (io::json_value const field : object.items())
      list_value(fields, text_of({path, path.empty() ? "" : ".", field.key()}), field);
  };
  auto const has_fields = [](io::json_value of) { return of.kind() == io::json_kind::object; };
  if (has_fields(value)) {
    bool const is_choice = !path.empty() && value.size() == 1 && has_fields(*value.items().begin());
    if (!is_choice) return list_members(value);
    io::json_value const alternative = *value.items().begin();
    fields.push_back({path, std::string(alternative.key())});
    return list_members(alternative);
  }
  if (value.kind() != io::json_kind::array) {
    fields.push_back({path, text_of_scalar(value)});
    if (value.kind() == io::json_kind::number) fields.back().number = value.number();
    return;
  }
  std::string scalars;
  std::size_t index = 0;
  for (io::json_value const element : value.items()) {
    if (has_fields(element) || element.kind() == io::json_kind::array)
      list_value(fields, text_of({path, "[", index, "]"}), element);
    else
      scalars += (scalars.empty() ? "" : ", ") + text_of_scalar(element);
    ++index;
  }
  if (!scalars.empty() || index == 0) fields.push_back({path, index == 0 ? "none" : scalars});
}

std::vector<field_text> fields_in_json(std::string const& text) {
  io::json_document const parsed = io::parse_json(text, "fields");
  std::vector<field_text> fields;
  list_value(fields, "", parsed.root());
  return fields;
}

std::string text_of_fields(std::vector<field_text> const& fields) {
  std::string text;
  for (field_text const& field : fields)
    text += text_of({text.empty() ? "" : "; ", field.path, " ", field.value});
  return text;
}

}  // namespace cohort::detail
