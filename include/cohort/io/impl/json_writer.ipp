// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/io/detail/json_string.hpp>
#include <cohort/io/json_writer.hpp>
#include <utility>

namespace cohort {

COHORT_CORE_INLINE json_writer& json_writer::key(std::string_view name) {
  if (levels_.empty() || levels_.back().bracket != '{' || keyed_) misuse("a value", "a field name");
  separate();
  quoted(name);
  text_ += spaced() ? ": " : ":";
  keyed_ = true;
  return *this;
}

COHORT_CORE_INLINE json_writer& json_writer::open(char bracket, json_lines lines) {
  before_value();
  levels_.push_back({bracket, spaced() && many_lines() && lines == json_lines::many, true});
  text_ += bracket;
  return *this;
}

COHORT_CORE_INLINE json_writer& json_writer::close(char bracket, char closing) {
  std::string const called = std::string("'") + closing + '\'';
  if (levels_.empty()) misuse(text_.empty() ? "a value" : "no more calls", called);
  if (keyed_) misuse("a value", called);
  if (levels_.back().bracket != bracket) misuse(bracket == '{' ? "']'" : "'}'", called);
  level const ended = levels_.back();
  levels_.pop_back();
  if (ended.many_lines && !ended.empty) line();
  text_ += closing;
  return *this;
}

COHORT_CORE_INLINE void json_writer::before_value() {
  if (complete()) misuse("no more calls", "a value");
  if (!keyed_) {
    if (!levels_.empty() && levels_.back().bracket == '{') misuse("a field name", "a value");
    separate();
  }
  keyed_ = false;
}

COHORT_CORE_INLINE void json_writer::separate() {
  if (levels_.empty()) return;
  if (!levels_.back().empty) text_ += levels_.back().many_lines || !spaced() ? "," : ", ";
  levels_.back().empty = false;
  if (levels_.back().many_lines) line();
}

COHORT_CORE_INLINE void json_writer::line() {
  text_ += '\n';
  text_.append(levels_.size() * static_cast<std::size_t>(indent_), ' ');
}

COHORT_CORE_INLINE void json_writer::quoted(std::string_view text) {
  std::size_t const bad = detail::invalid_utf8_at(text);
  if (bad != text.size()) {
    throw data_error({.what = "cannot write JSON",
                      .where = {where(), ", byte ", bad, " of ", detail::shown(text)},
                      .expected = "UTF-8",
                      .got = {"byte ", static_cast<unsigned char>(text[bad])}});
  }
  detail::append_quoted(text_, text);
}

COHORT_CORE_INLINE std::string json_writer::finished(std::string text) const {
  if (!complete()) misuse(keyed_ || levels_.empty() ? "a value" : "every array and object closed", "the end");
  if (spaced()) text += '\n';
  return text;
}

COHORT_CORE_INLINE void json_writer::misuse(std::string expected, std::string got) const {
  throw setting_error({.what = "these calls make no JSON",
                       .where = where(),
                       .expected = std::move(expected),
                       .got = std::move(got)});
}

}  // namespace cohort
