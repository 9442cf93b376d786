// SPDX-License-Identifier: Apache-2.0
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>
#include <algorithm>
#include <charconv>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/json_tree_builder.hpp>
#include <cohort/io/detail/underflow.hpp>
#include <cohort/yaml.hpp>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace cohort::detail {

/// Offsets of a text's lines. Converts the parser's positions (bytes from 0) to lines and characters from 1.
class line_index {
 public:
  explicit line_index(std::string_view text) : text_(text) {
    for (std::size_t k = 0; k < text.size(); ++k)
      if (text[k] == '\n') begins_.push_back(k + 1);
  }

  text_position at(int line, int column) const {
    if (line < 0) return {};
    std::size_t const index = std::min(static_cast<std::size_t>(line), begins_.size() - 1);
    std::string_view const before =
        text_.substr(begins_[index], static_cast<std::size_t>(std::max(column, 0)));
    auto const continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
    auto const characters =
        before.size() - static_cast<std::size_t>(std::count_if(before.begin(), before.end(), continues));
    return {static_cast<std::uint32_t>(index + 1), static_cast<std::uint32_t>(characters + 1)};
  }
  text_position at(YAML::Mark const& mark) const { return at(mark.line, mark.column); }

  /// Returns the position of a byte.
  text_position of(std::size_t byte) const {
    auto const after = std::upper_bound(begins_.begin(), begins_.end(), byte);
    auto const line = static_cast<std::size_t>(after - begins_.begin()) - 1;
    return at(static_cast<int>(line), static_cast<int>(byte - begins_[line]));
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> begins_{0};
};

/// A number of YAML's core schema.
struct yaml_number {
  double value = 0;
  bool negative = false;
  std::optional<std::uint64_t> integer{};
  bool finite = true;
};

/// Reads digits of a base; nullopt for other characters, and beyond 64 bits.
inline std::optional<std::uint64_t> digits_of(std::string_view text, int base) {
  std::uint64_t value = 0;
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (failure != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::optional<yaml_number> number_of(std::string_view text) {
  if (text.starts_with("0o") || text.starts_with("0x")) {
    auto const value = digits_of(text.substr(2), text[1] == 'o' ? 8 : 16);
    if (!value) return std::nullopt;
    return yaml_number{.value = static_cast<double>(*value), .integer = value};
  }
  yaml_number made;
  std::string_view rest = text;
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) {
    made.negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  bool const is_infinite = rest == ".inf" || rest == ".Inf" || rest == ".INF";
  if (is_infinite || text == ".nan" || text == ".NaN" || text == ".NAN") {
    made.finite = false;
    return made;
  }
  // [0-9]+ or ( . [0-9]+ | [0-9]+ ( . [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
  std::size_t at = 0;
  auto const digits = [&] {
    std::size_t const begin = at;
    while (at < rest.size() && rest[at] >= '0' && rest[at] <= '9') ++at;
    return at - begin;
  };
  std::size_t const before = digits();
  bool const is_integer = at == rest.size() && before > 0;
  if (!is_integer) {
    std::size_t after = 0;
    if (at < rest.size() && rest[at] == '.') {
      ++at;
      after = digits();
    }
    if (before + after == 0) return std::nullopt;
    if (at < rest.size() && (rest[at] == 'e' || rest[at] == 'E')) {
      ++at;
      if (at < rest.size() && (rest[at] == '-' || rest[at] == '+')) ++at;
      if (digits() == 0) return std::nullopt;
    }
    if (at != rest.size()) return std::nullopt;
  }
  if (is_integer) made.integer = digits_of(rest, 10);
  auto const failure = std::from_chars(rest.data(), rest.data() + rest.size(), made.value).ec;
  if (failure == std::errc::result_out_of_range) {
    made.value = 0;
    made.finite = underflows(rest);
  }
  if (made.negative) made.value = -made.value;
  return made;
}

/// Forwards the parser's events to a builder.
class yaml_events final : public YAML::EventHandler {
 public:
  yaml_events(json_tree_builder& to, line_index const& lines) : to_(to), lines_(lines) {}

  void OnDocumentStart(YAML::Mark const& mark) override {
    if (to_.is_complete()) to_.refuse(lines_.at(mark), "one document", "a second one");
  }
  void OnDocumentEnd() override {}
  void OnNull(YAML::Mark const& mark, YAML::anchor_t anchor) override {
    text_position const at = lines_.at(mark);
    check(at, "?", anchor);
    if (to_.needs_key()) to_.refuse(at, "a text as a key", "nothing");
    to_.null(at);
  }
  void OnAlias(YAML::Mark const& mark, YAML::anchor_t) override {
    to_.refuse(lines_.at(mark), "a value written out", "an alias");
  }
  void OnScalar(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t anchor,
                std::string const& value) override {
    text_position const at = lines_.at(mark);
    check(at, tag, anchor);
    if (invalid_utf8_at(value) != value.size())
      to_.refuse(at, "characters of Unicode", quote_for_error(value));
    if (to_.needs_key())
      to_.key(value);
    else if (tag == "!")
      to_.string(value, at);
    else
      plain(value, at);
  }
  void OnSequenceStart(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(mark, tag, anchor);
    to_.begin_array(lines_.at(mark));
  }
  void OnSequenceEnd() override { to_.end(); }
  void OnMapStart(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(mark, tag, anchor);
    to_.begin_object(lines_.at(mark));
  }
  void OnMapEnd() override { to_.end(); }

 private:
  void check(text_position at, std::string const& tag, YAML::anchor_t anchor) const {
    if (anchor != 0) to_.refuse(at, "a value without an anchor", "an anchor");
    if (!tag.empty() && tag != "?" && tag != "!")
      to_.refuse(at, "a value without a tag", quote_for_error(tag));
  }
  void begin(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t anchor) const {
    text_position const at = lines_.at(mark);
    check(at, tag, anchor);
    if (to_.needs_key()) to_.refuse(at, "a text as a key", "a list or an object");
  }
  void plain(std::string const& value, text_position at) {
    if (value.empty() || value == "~" || value == "null" || value == "Null" || value == "NULL")
      to_.null(at);
    else if (value == "true" || value == "True" || value == "TRUE")
      to_.boolean(true, at);
    else if (value == "false" || value == "False" || value == "FALSE")
      to_.boolean(false, at);
    else if (auto const number = number_of(value); !number)
      to_.string(value, at);
    else if (!number->finite)
      to_.refuse(at, "a finite number", value);
    else
      to_.number(number->value, number->negative, number->integer, at);
  }

  json_tree_builder& to_;
  line_index const& lines_;
};

/// Returns the index of the first control character that YAML forbids; the text's size if there is none.
inline std::size_t control_character_at(std::string_view text) {
  auto const found = std::find_if(text.begin(), text.end(), [](char c) {
    auto const byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n' && c != '\t' && c != '\r') || byte == 0x7f;
  });
  return static_cast<std::size_t>(found - text.begin());
}

}  // namespace cohort::detail

namespace cohort::io {

json_document parse_yaml(std::string_view text, std::string_view name, json_limits limits) {
  // The escape \L has two bytes, the character that it denotes three.
  detail::json_tree_builder to("cannot read YAML", name, std::min(text.size(), limits.max_bytes) * 2, limits);
  if (text.size() > limits.max_bytes)
    throw data_error({.what = "cannot read YAML",
                      .where = std::string(name),
                      .expected = {"at most ", limits.max_bytes, " bytes"},
                      .got = {text.size(), " bytes"}});
  detail::line_index const lines(text);
  if (std::size_t const at = detail::invalid_utf8_at(text); at != text.size())
    to.refuse(lines.of(at), "UTF-8", "an invalid byte");
  if (std::size_t const at = detail::control_character_at(text); at != text.size())
    to.refuse(lines.of(at), "a printable character", "a control character");
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    detail::yaml_events events(to, lines);
    if (!parser.HandleNextDocument(events) || !to.is_complete()) to.refuse({}, "a document", "none");
    parser.HandleNextDocument(events);  // a second document is an error
  } catch (YAML::Exception const& problem) {
    detail::text_position const at = lines.at(problem.mark);
    throw data_error(
        {.what = "cannot read YAML", .where = {name, ':', at.line, ':', at.column}, .got = problem.msg});
  }
  return json_document(to.finish());
}

}  // namespace cohort::io
