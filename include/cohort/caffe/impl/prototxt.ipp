// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>
#include <cohort/caffe/prototxt.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/detail/nearest_name.hpp>
#include <cohort/io/file.hpp>
#include <limits>
#include <optional>
#include <utility>

namespace cohort {

namespace detail {

namespace {

constexpr std::size_t largest_prototxt = std::size_t{64} << 20, most_prototxt_fields = std::size_t{1} << 20;
constexpr int deepest_prototxt = 64;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Recursive-descent parser of the text format.
class prototxt_parser {
 public:
  prototxt_parser(std::string_view text, prototxt_message& root) : text_(text), root_(&root) {}

  void run() { fields(*root_, '\0', 0); }

 private:
  char peek() const { return place_ < text_.size() ? text_[place_] : '\0'; }
  bool ends() const { return place_ >= text_.size(); }
  void advance() {
    if (text_[place_++] == '\n')
      ++line_, column_ = 1;
    else
      ++column_;
  }

  /// Skips blanks and comments.
  void skip() {
    while (!ends()) {
      char const c = peek();
      if (c == '#')
        while (!ends() && peek() != '\n') advance();
      else if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v')
        advance();
      else
        return;
    }
  }
  bool accept(char c) {
    skip();
    if (ends() || peek() != c) return false;
    advance();
    return true;
  }

  [[noreturn]] void refuse(clause expected) const {
    std::size_t length = 0;
    while (length < 24 && place_ + length < text_.size() && text_[place_ + length] > ' ') ++length;
    std::string got = "the end of the file";
    if (length > 0 || (!ends() && peek() == '\n'))
      got = quote_for_error(text_.substr(place_, length > 0 ? length : 1));
    else if (!ends())
      got = "the byte " + std::to_string(static_cast<unsigned char>(peek()))
            + "; save the file as text, without a byte order mark";
    throw data_error({.what = "cannot read the text format of Protocol Buffers",
                      .where = {root_->origin(), ':', line_, ':', column_},
                      .expected = std::move(expected),
                      .got = std::move(got)});
  }

  /// Reads the fields of a message up to `end`; '\0': up to the end of the text.
  void fields(prototxt_message& into, char end, int depth) {
    while (true) {
      skip();
      if (ends()) {
        if (end != '\0') refuse({"a field or '", end, "'"});
        return;
      }
      if (end != '\0' && accept(end)) return;
      read_field(into, depth);
      if (!accept(';')) accept(',');
    }
  }

  void read_field(prototxt_message& into, int depth) {
    if (!is_letter(peek())) refuse("the name of a field");
    std::string const name = identifier();
    bool const has_colon = accept(':');
    skip();
    if (accept('[')) {
      if (accept(']')) return;
      do value(into, name, has_colon, depth);
      while (accept(','));
      if (!accept(']')) refuse("',' or ']'");
    } else {
      value(into, name, has_colon, depth);
    }
  }

  void value(prototxt_message& into, std::string const& name, bool has_colon, int depth) {
    skip();
    if (++count_ > most_prototxt_fields) refuse({"at most ", most_prototxt_fields, " fields"});
    prototxt_message::field result{.name = name, .line = line_, .column = column_};
    char const c = peek();
    if (c == '{' || c == '<') {
      if (depth + 1 > deepest_prototxt)
        refuse({"messages that are nested at most ", deepest_prototxt, " deep"});
      advance();
      result.message.push_back(into.nested(result.line, result.column));
      fields(result.message[0], c == '{' ? '}' : '>', depth + 1);
    } else if (!has_colon) {
      refuse({"':' or '{' after ", name});
    } else if (c == '"' || c == '\'') {
      result.is_string = true;
      do string(result.text);
      while (skip(), peek() == '"' || peek() == '\'');
    } else {
      if (accept('-')) {
        result.text = "-";
        skip();
      }
      if (is_letter(peek()))
        result.text += identifier();
      else if (is_digit(peek()) || peek() == '.')
        number(result.text);
      else
        refuse("a value: a number, a word, a string or a message");
    }
    into.add(std::move(result));
  }

  std::string identifier() {
    std::size_t const first = place_;
    while (is_letter(peek()) || is_digit(peek())) advance();
    return std::string(text_.substr(first, place_ - first));
  }

  void number(std::string& into) {
    std::size_t const first = place_;
    while (is_letter(peek()) || is_digit(peek()) || peek() == '.'
           || ((peek() == '-' || peek() == '+') && (text_[place_ - 1] == 'e' || text_[place_ - 1] == 'E')))
      advance();
    into += text_.substr(first, place_ - first);
  }

  void string(std::string& into) {
    char const quote = peek();
    advance();
    while (peek() != quote || ends()) {
      if (ends() || peek() == '\n') refuse({"the end of the string, ", quote});
      char c = peek();
      advance();
      if (c == '\\') c = escape();
      into += c;
    }
    advance();
  }

  char escape() {
    if (ends()) refuse("an escape");
    char const c = peek();
    int base = 0, digits = 0, most = 3;
    if (c == 'x' || c == 'X') {
      advance();
      base = 16, most = 2;
    } else if (c >= '0' && c <= '7') {
      base = 8;
    } else {
      constexpr std::string_view names = "abfnrtv\\'\"?", values = "\a\b\f\n\r\t\v\\'\"?";
      std::size_t const which = names.find(c);
      if (which == names.npos)
        refuse("one of the escapes \\a \\b \\f \\n \\r \\t \\v \\? \\' \\\" \\\\ \\x \\0");
      advance();
      return values[which];
    }
    int code = 0;
    for (; digits < most && !ends(); ++digits) {
      char const d = peek();
      int const digit = is_digit(d)            ? d - '0'
                        : d >= 'a' && d <= 'f' ? d - 'a' + 10
                        : d >= 'A' && d <= 'F' ? d - 'A' + 10
                                               : 16;
      if (digit >= base) break;
      code = code * base + digit;
      advance();
    }
    if (digits == 0 || code > 255) refuse("the number of a byte");
    return static_cast<char>(code);
  }

  std::string_view text_;
  prototxt_message* root_;
  std::size_t place_ = 0;
  int line_ = 1, column_ = 1;
  std::size_t count_ = 0;
};

/// Reads a number of the text format: decimal, hexadecimal, octal, or floating-point with an optional f.
std::optional<double> prototxt_number(std::string_view text) {
  bool const is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  double value = 0;
  if (text == "inf" || text == "infinity") {
    value = std::numeric_limits<double>::infinity();
  } else if (text == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (text.size() > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X' || is_digit(text[1]))) {
    bool const is_hexadecimal = !is_digit(text[1]);
    std::string_view const digits = text.substr(is_hexadecimal ? 2 : 1);
    std::uint64_t whole = 0;
    auto const [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), whole, is_hexadecimal ? 16 : 8);
    if (failure != std::errc() || end != digits.data() + digits.size()) return {};
    value = static_cast<double>(whole);
  } else {
    if (text.empty() || !(is_digit(text[0]) || text[0] == '.')) return {};
    if (text.ends_with('f') || text.ends_with('F')) text.remove_suffix(1);
    auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end != text.data() + text.size()) return {};
  }
  return is_negative ? -value : value;
}

}  // namespace

}  // namespace detail

prototxt_message::prototxt_message(std::string origin, int line, int column)
    : prototxt_message(std::make_shared<std::string const>(std::move(origin)), line, column) {}

prototxt_message prototxt_message::nested(int line, int column) const {
  return prototxt_message(origin_, line, column);
}

std::size_t prototxt_message::count(std::string_view name) const {
  std::size_t found = 0;
  for (field const& each : fields_) found += each.name == name ? 1 : 0;
  return found;
}
bool prototxt_message::has(std::string_view name) const { return count(name) > 0; }

prototxt_message::field const* prototxt_message::only(std::string_view name) const {
  field const* found = nullptr;
  for (field const& each : fields_) {
    if (each.name != name) continue;
    if (found) refuse(each, "the field is set twice", "one value", "another value");
    found = &each;
  }
  return found;
}

double prototxt_message::number_of(field const& from) const {
  std::optional<double> const value =
      from.is_string || !from.message.empty() ? std::optional<double>() : detail::prototxt_number(from.text);
  if (!value) refuse(from, "the field is not a number", "a number", described(from));
  return *value;
}

std::int64_t prototxt_message::integer_of(field const& from) const {
  double const value = number_of(from);
  if (!(std::abs(value) <= 0x1p53) || value != std::floor(value))
    refuse(from, "the field is not an integer", "an integer of at most 53 bits", from.text);
  return static_cast<std::int64_t>(value);
}

bool prototxt_message::boolean_of(field const& from) const {
  std::string const& value = text_of(from);
  if (!from.is_string) {
    if (value == "true" || value == "True" || value == "t" || value == "1") return true;
    if (value == "false" || value == "False" || value == "f" || value == "0") return false;
  }
  refuse(from, "the field is not a boolean", "true or false", described(from));
}

std::string prototxt_message::described(field const& from) {
  if (!from.message.empty()) return "a message";
  return detail::quote_for_error(std::string_view(from.text).substr(0, 64));
}

std::string const& prototxt_message::text_of(field const& from) const {
  if (!from.message.empty()) refuse(from, "the field is not a text", "a text", "a message");
  return from.text;
}

prototxt_message const& prototxt_message::message_of(field const& from) const {
  if (from.message.empty()) refuse(from, "the field is not a message", "a message in { }", described(from));
  return from.message[0];
}

std::string prototxt_message::text(std::string_view name, std::string_view otherwise) const {
  field const* const found = only(name);
  return found ? text_of(*found) : std::string(otherwise);
}
double prototxt_message::number(std::string_view name, double otherwise) const {
  field const* const found = only(name);
  return found ? number_of(*found) : otherwise;
}
std::int64_t prototxt_message::integer(std::string_view name, std::int64_t otherwise) const {
  field const* const found = only(name);
  return found ? integer_of(*found) : otherwise;
}
bool prototxt_message::boolean(std::string_view name, bool otherwise) const {
  field const* const found = only(name);
  return found ? boolean_of(*found) : otherwise;
}
prototxt_message prototxt_message::message(std::string_view name) const {
  field const* const found = only(name);
  return found ? message_of(*found) : nested(line_, column_);
}

std::vector<std::string> prototxt_message::texts(std::string_view name) const {
  std::vector<std::string> all;
  for (field const& each : fields_)
    if (each.name == name) all.push_back(text_of(each));
  return all;
}
std::vector<double> prototxt_message::numbers(std::string_view name) const {
  std::vector<double> all;
  for (field const& each : fields_)
    if (each.name == name) all.push_back(number_of(each));
  return all;
}
std::vector<std::int64_t> prototxt_message::integers(std::string_view name) const {
  std::vector<std::int64_t> all;
  for (field const& each : fields_)
    if (each.name == name) all.push_back(integer_of(each));
  return all;
}
std::vector<bool> prototxt_message::booleans(std::string_view name) const {
  std::vector<bool> all;
  for (field const& each : fields_)
    if (each.name == name) all.push_back(boolean_of(each));
  return all;
}
std::vector<prototxt_message const*> prototxt_message::messages(std::string_view name) const& {
  std::vector<prototxt_message const*> all;
  for (field const& each : fields_)
    if (each.name == name) all.push_back(&message_of(each));
  return all;
}

void prototxt_message::expect_only(std::span<std::string_view const> names) const {
  for (field const& each : fields_) {
    bool is_known = false;
    for (std::string_view const name : names) is_known = is_known || each.name == name;
    if (!is_known)
      refuse(each, "the field is unknown", detail::names_and_nearest(each.name, names),
             detail::quote_for_error(each.name));
  }
}

std::string prototxt_message::where(std::string_view name) const {
  int line = line_, column = column_;
  for (field const& each : fields_)
    if (each.name == name) {
      line = each.line, column = each.column;
      break;
    }
  return detail::text_of({*origin_, ':', line, ':', column});
}

void prototxt_message::refuse(std::string_view name, detail::clause problem, detail::clause expected,
                              detail::clause got) const {
  for (field const& each : fields_)
    if (each.name == name) refuse(each, std::move(problem), std::move(expected), std::move(got));
  throw data_error(
      {.what = std::move(problem),
       .where = name.empty() ? detail::clause(where()) : detail::clause({where(), ", field ", name}),
       .expected = std::move(expected),
       .got = std::move(got)});
}

void prototxt_message::refuse(field const& about, detail::clause problem, detail::clause expected,
                              detail::clause got) const {
  throw data_error({.what = std::move(problem),
                    .where = {*origin_, ':', about.line, ':', about.column, ", field ", about.name},
                    .expected = std::move(expected),
                    .got = std::move(got)});
}

void prototxt_message::add(field value) { fields_.push_back(std::move(value)); }
void prototxt_message::remove(std::string_view name) {
  std::erase_if(fields_, [&](field const& each) { return each.name == name; });
}

prototxt_message parse_prototxt(std::string_view text, std::string const& origin) {
  if (text.size() > detail::largest_prototxt)
    throw data_error({.what = "cannot read the text format of Protocol Buffers",
                      .where = origin,
                      .expected = {"at most ", detail::largest_prototxt, " bytes"},
                      .got = {text.size()}});
  prototxt_message root(origin);
  detail::prototxt_parser(text, root).run();
  return root;
}

prototxt_message read_prototxt(std::string const& path) {
  std::vector<std::byte> const bytes = io::read_file(path, detail::largest_prototxt);
  return parse_prototxt({reinterpret_cast<char const*>(bytes.data()), bytes.size()}, path);
}

}  // namespace cohort
