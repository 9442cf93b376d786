// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <charconv>
#include <cohort/error/exceptions.hpp>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cohort::io {

/// Layout of the items of an array or object, if the text is indented: one line per item (`many`), or one
/// line for all items.
enum class json_lines : std::uint8_t { many, one };

/// Writes one JSON text (RFC 8259). The same calls produce the same bytes.
///
///     json_writer out(2);
///     out.begin_object().field("name", "lenet").key("input").begin_array(json_lines::one);
///     out.value(1).value(28).value(28).end_array().end_object();
///     std::string text = out.text();
///
/// Units     `indent`: spaces per level; 0 writes everything on one line without spaces.
/// Errors    numeric_error if a number is not finite. data_error if a string is not UTF-8. setting_error if
///           the calls do not form JSON (a field without a name, an unmatched end_array, …).
/// Exact     a double is written with the fewest digits that read back as the same bits.
class json_writer {
 public:
  explicit json_writer(int indent = 0) : indent_(indent) {}

  json_writer& begin_object(json_lines lines = json_lines::many) { return open('{', lines); }
  json_writer& end_object() { return close('{', '}'); }
  json_writer& begin_array(json_lines lines = json_lines::many) { return open('[', lines); }
  json_writer& end_array() { return close('[', ']'); }

  /// Writes a field's name. The next call writes its value.
  json_writer& key(std::string_view name);

  /// Writes an element, a field's value or the root value.
  json_writer& value(std::nullptr_t) { return before_value(), text_ += "null", *this; }
  json_writer& value(char const* text) { return value(std::string_view(text)); }
  json_writer& value(std::string_view text) { return before_value(), append_string(text), *this; }

  template <class Number>
  requires std::is_arithmetic_v<Number> json_writer& value(Number number) {
    if constexpr (std::same_as<Number, bool>) {
      before_value();
      text_ += number ? "true" : "false";
    } else if constexpr (std::integral<Number>) {
      before_value();
      if constexpr (std::is_signed_v<Number>) {
        append_number(static_cast<std::int64_t>(number));
      } else {
        append_number(static_cast<std::uint64_t>(number));
      }
    } else {
      static_assert(sizeof(Number) <= sizeof(double),
                    "cohort: json_writer supports floating-point types up to double");
      auto const real = static_cast<double>(number);
      // Tests the bit pattern, so it also works with -ffast-math.
      if ((std::bit_cast<std::uint64_t>(real) >> 52 & 0x7ff) == 0x7ff) {
        throw numeric_error({.what = "cannot write JSON",
                             .where = where(),
                             .expected = "a finite number",
                             .got = "NaN or infinity"});
      }
      before_value();
      append_number(real);
    }
    return *this;
  }

  /// Writes a field: its name and its value.
  template <class Value>
  json_writer& field(std::string_view name, Value const& content) {
    return key(name).value(content);
  }

  /// Returns the complete text, with a final line feed if `indent` > 0.
  ///
  /// Errors    setting_error if the text is not complete.
  std::string text() const { return finished(text_); }

 private:
  struct level {
    char bracket;
    bool many_lines;
    bool empty;
  };

  bool indented() const { return indent_ > 0; }
  bool many_lines() const { return levels_.empty() || levels_.back().many_lines; }

  json_writer& open(char bracket, json_lines lines);

  json_writer& close(char bracket, char closing);

  bool complete() const { return levels_.empty() && !text_.empty(); }

  void before_value();

  void separate();

  void new_line();

  template <class Number>
  void append_number(Number number) {
    char buffer[32];
    text_.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
  }

  void append_string(std::string_view text);

  std::string finished(std::string text) const;

  std::string where() const { return "after " + std::to_string(text_.size()) + " bytes"; }
  [[noreturn]] void misuse(std::string expected, std::string got) const;

  int indent_;
  bool after_key_ = false;
  std::vector<level> levels_;
  std::string text_;
};

}  // namespace cohort::io
