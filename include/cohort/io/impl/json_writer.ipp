// SPDX-License-Identifier: Apache-2.0
#include <cohort/detail/json_string.hpp>
#include <cohort/io/json_writer.hpp>
#include <utility>

namespace cohort::io {

json_writer& json_writer::key(std::string_view name) {
  if (levels_.empty() || levels_.back().bracket != '{' || after_key_) misuse("a value", "a field name");
  separate();
  append_string(name);
  text_ += indented() ? ": " : ":";
  after_key_ = true;
  return *this;
}

json_writer& json_writer::open(char bracket, json_lines lines) {
  before_value();
  levels_.push_back({bracket, indented() && many_lines() && lines == json_lines::many, true});
  text_ += bracket;
  return *this;
}

json_writer& json_writer::close(char bracket, char closing) {
  std::string const called = std::string("'") + closing + '\'';
  if (levels_.empty()) misuse(text_.empty() ? "a value" : "no more calls", called);
  if (after_key_) misuse("a value", called);
  if (levels_.back().bracket != bracket) misuse(bracket == '{' ? "']'" : "'}'", called);
  level const ended = levels_.back();
  levels_.pop_back();
  if (ended.many_lines && !ended.empty) new_line();
  text_ += closing;
  return *this;
}

void json_writer::before_value() {
  if (complete()) misuse("no more calls", "a value");
  if (!after_key_) {
    if (!levels_.empty() && levels_.back().bracket == '{') misuse("a field name", "a value");
    separate();
  }
  after_key_ = false;
}

void json_writer::separate() {
  if (levels_.empty()) return;
  if (!levels_.back().empty) text_ += levels_.back().many_lines || !indented() ? "," : ", ";
  levels_.back().empty = false;
  if (levels_.back().many_lines) new_line();
}

void json_writer::new_line() {
  text_ += '\n';
  text_.append(levels_.size() * static_cast<std::size_t>(indent_), ' ');
}

void json_writer::append_string(std::string_view text) {
  std::size_t const bad = detail::invalid_utf8_at(text);
  if (bad != text.size()) {
    throw data_error({.what = "cannot write JSON",
                      .where = {where(), ", byte ", bad, " of ", detail::quote_for_error(text)},
                      .expected = "UTF-8",
                      .got = {"byte ", static_cast<unsigned char>(text[bad])}});
  }
  detail::append_quoted(text_, text);
}

std::string json_writer::finished(std::string text) const {
  if (!complete())
    misuse(after_key_ || levels_.empty() ? "a value" : "all arrays and objects closed", "text()");
  if (indented()) text += '\n';
  return text;
}

void json_writer::misuse(std::string expected, std::string got) const {
  throw setting_error({.what = "the sequence of json_writer calls does not form JSON",
                       .where = where(),
                       .expected = std::move(expected),
                       .got = std::move(got)});
}

}  // namespace cohort::io
