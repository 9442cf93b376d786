// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cohort/data/detail/decimal.hpp>
#include <cohort/data/detail/table_content.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/detail/nearest_name.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/transform/detail/row_expression.hpp>
#include <cohort/transform/detail/time_text.hpp>
#include <limits>
#include <span>
#include <utility>

namespace cohort::detail {

enum class row_expression::operation : std::uint8_t {
  // Leaves.
  number,
  text,
  truth,
  missing,
  column,
  // Functions, in the order of `functions`.
  abs,
  sqrt,
  exp,
  log,
  floor,
  ceil,
  round,
  min,
  max,
  pow,
  choose,
  is_missing,
  length,
  time,
  year,
  month,
  day,
  hour,
  minute,
  weekday,
  // Operators.
  negate,
  add,
  subtract,
  multiply,
  divide,
  remainder,
  equal,
  unequal,
  less,
  less_equal,
  greater,
  greater_equal,
  invert,
  both,
  either,
};

/// A function of the language and its number of arguments.
struct named_function {
  std::string_view name;
  int arguments;
};
inline constexpr std::array<named_function, 20> expression_functions{
    {{"abs", 1},  {"sqrt", 1},  {"exp", 1}, {"log", 1},  {"floor", 1},      {"ceil", 1},   {"round", 1},
     {"min", 2},  {"max", 2},   {"pow", 2}, {"if", 3},   {"is_missing", 1}, {"length", 1}, {"time", 1},
     {"year", 1}, {"month", 1}, {"day", 1}, {"hour", 1}, {"minute", 1},     {"weekday", 1}}};

[[noreturn]] void refuse_expression(std::string_view where, std::size_t position, std::string expected,
                                    std::string got) {
  throw setting_error({.what = "an expression is not valid",
                       .where = {where, ", character ", position + 1},
                       .expected = std::move(expected),
                       .got = std::move(got)});
}

/// A recursive descent parser. Each function appends nodes and returns the index of the last one.
class expression_parser {
 public:
  using operation = row_expression::operation;

  expression_parser(std::string_view text, row_expression& into) : text_(text), into_(into) {}

  void parse() {
    if (text_.size() > row_expression::max_bytes)
      refuse(0, text_of({"at most ", row_expression::max_bytes, " bytes"}),
             text_of({text_.size(), " bytes"}));
    std::size_t const bad = invalid_utf8_at(text_);
    if (bad != text_.size()) refuse(bad, "UTF-8", "another byte");
    disjunction();
    skip_blanks();
    if (at_ != text_.size()) refuse_here("an operator, or the end of the expression");
  }

 private:
  using node = row_expression::node;

  [[noreturn]] void refuse(std::size_t position, std::string expected, std::string got) const {
    refuse_expression(into_.where_, position, std::move(expected), std::move(got));
  }
  [[noreturn]] void refuse_here(std::string expected) {
    skip_blanks();
    std::string_view const next = text_.substr(at_, 12);
    refuse(at_, std::move(expected),
           at_ == text_.size() ? "the end of the expression" : quote_for_error(next));
  }

  int append(node one) {
    if (into_.nodes_.size() == row_expression::max_operations)
      refuse(one.at, text_of({"at most ", row_expression::max_operations, " operations and operands"}),
             "more");
    into_.nodes_.push_back(std::move(one));
    return static_cast<int>(into_.nodes_.size()) - 1;
  }

  static bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  bool accept(std::string_view symbol) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(symbol)) return false;
    at_ += symbol.size();
    return true;
  }
  /// Returns the name at the current position, without reading it.
  std::string_view next_name() {
    skip_blanks();
    std::size_t end = at_;
    if (end < text_.size() && is_name_start(text_[end]))
      while (end < text_.size() && (is_name_start(text_[end]) || is_digit(text_[end]))) ++end;
    return text_.substr(at_, end - at_);
  }
  bool accept_word(std::string_view word) {
    if (next_name() != word) return false;
    at_ += word.size();
    return true;
  }
  std::uint32_t position() {
    skip_blanks();
    return static_cast<std::uint32_t>(at_);
  }

  /// Counts the depth of nested parentheses, functions and prefix operators.
  struct nesting {
    explicit nesting(expression_parser& parser) : of(parser) {
      if (++of.depth_ > row_expression::max_depth)
        of.refuse(of.at_, text_of({"at most ", row_expression::max_depth, " nested parts"}), "more");
    }
    ~nesting() { --of.depth_; }
    nesting(nesting const&) = delete;
    nesting& operator=(nesting const&) = delete;
    expression_parser& of;
  };

  int disjunction() {
    nesting const deeper(*this);
    int left = conjunction();
    for (std::uint32_t at = position(); accept_word("or"); at = position())
      left = append_binary(operation::either, at, left, conjunction());
    return left;
  }
  int conjunction() {
    int left = inversion();
    for (std::uint32_t at = position(); accept_word("and"); at = position())
      left = append_binary(operation::both, at, left, inversion());
    return left;
  }
  int inversion() {
    std::uint32_t const at = position();
    if (!accept_word("not")) return comparison();
    nesting const deeper(*this);
    int const operand = inversion();
    return append({.what = operation::invert, .at = at, .first = operand});
  }

  int append_binary(operation what, std::uint32_t at, int left, int right) {
    return append({.what = what, .at = at, .first = left, .second = right});
  }

  bool accept_comparison(operation& what) {
    constexpr std::pair<std::string_view, operation> all[]{
        {"==", operation::equal},         {"!=", operation::unequal}, {"<=", operation::less_equal},
        {">=", operation::greater_equal}, {"<", operation::less},     {">", operation::greater}};
    for (auto const& [symbol, one] : all)
      if (accept(symbol)) return what = one, true;
    return false;
  }
  int comparison() {
    int const left = sum();
    std::uint32_t const at = position();
    operation what{};
    if (!accept_comparison(what)) return left;
    int const made = append_binary(what, at, left, sum());
    std::uint32_t const again = position();
    if (accept_comparison(what))
      refuse(again, "one comparison, or several joined by `and`", "a second comparison");
    return made;
  }
  int sum() {
    int left = product();
    for (;;) {
      std::uint32_t const at = position();
      if (accept("+"))
        left = append_binary(operation::add, at, left, product());
      else if (accept("-"))
        left = append_binary(operation::subtract, at, left, product());
      else
        return left;
    }
  }
  int product() {
    int left = prefix();
    for (;;) {
      std::uint32_t const at = position();
      if (accept("*"))
        left = append_binary(operation::multiply, at, left, prefix());
      else if (accept("/"))
        left = append_binary(operation::divide, at, left, prefix());
      else if (accept("%"))
        left = append_binary(operation::remainder, at, left, prefix());
      else
        return left;
    }
  }
  int prefix() {
    std::uint32_t const at = position();
    if (!accept("-")) return operand();
    nesting const deeper(*this);
    int const one = prefix();
    return append({.what = operation::negate, .at = at, .first = one});
  }

  int operand() {
    std::uint32_t const at = position();
    if (at_ == text_.size()) refuse_here("an operand");
    char const c = text_[at_];
    if (is_digit(c) || c == '.') return number();
    if (c == '\'' || c == '"')
      return append({.what = operation::text, .at = at, .text = quoted(c, "a text")});
    if (c == '`') return column(at, quoted(c, "a column's name"));
    if (accept("(")) {
      int const inner = disjunction();
      if (!accept(")")) refuse_here("an operator or )");
      return inner;
    }
    std::string_view const name = next_name();
    if (name.empty()) refuse_here("a number, a text, a column, a function or (");
    if (name == "and" || name == "or" || name == "not") refuse_here("an operand");
    at_ += name.size();
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == '(') return function(at, name);
    if (name == "true" || name == "false")
      return append({.what = operation::truth, .at = at, .number = name == "true" ? 1.0 : 0.0});
    if (name == "missing") return append({.what = operation::missing, .at = at});
    return column(at, std::string(name));
  }

  int number() {
    auto const at = static_cast<std::uint32_t>(at_);
    double value = 0;
    char const* const begin = text_.data() + at_;
    char const* const end = parse_decimal(begin, text_.data() + text_.size(), value);
    if (!end || !is_finite(value)) refuse_here("a finite number");
    at_ += static_cast<std::size_t>(end - begin);
    return append({.what = operation::number, .at = at, .number = value});
  }

  /// Reads a text in quotes. A quote in the text is written twice.
  std::string quoted(char quote, char const* what) {
    std::size_t const start = at_++;
    std::string made;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == quote) {
        ++at_;
        if (at_ == text_.size() || text_[at_] != quote) return made;
      }
      made += text_[at_];
    }
    refuse(start, text_of({what, " that ends with ", quote}), "the end of the expression");
  }

  int column(std::uint32_t at, std::string name) {
    if (name.empty()) refuse(at, "a column's name", "an empty name");
    if (std::ranges::find(into_.columns_, name) == into_.columns_.end()) into_.columns_.push_back(name);
    return append({.what = operation::column, .at = at, .text = std::move(name)});
  }

  int function(std::uint32_t at, std::string_view name) {
    auto const found = std::ranges::find(expression_functions, name, &named_function::name);
    if (found == expression_functions.end()) {
      std::vector<std::string_view> names;
      for (named_function const& one : expression_functions) names.push_back(one.name);
      refuse(at, "one of the functions " + names_and_nearest(name, names), quote_for_error(name));
    }
    accept("(");
    std::array<int, 3> arguments{-1, -1, -1};
    for (int i = 0; i < found->arguments; ++i) {
      if (i > 0 && !accept(","))
        refuse_here(text_of({"a comma: ", name, " has ", found->arguments, " arguments"}));
      arguments[static_cast<std::size_t>(i)] = disjunction();
    }
    if (!accept(")"))
      refuse_here(text_of(
          {"): ", name, " has ", found->arguments, found->arguments == 1 ? " argument" : " arguments"}));
    auto const what = static_cast<operation>(static_cast<int>(operation::abs)
                                             + static_cast<int>(found - expression_functions.begin()));
    if (what == operation::time) return literal_time(at);
    return append(
        {.what = what, .at = at, .first = arguments[0], .second = arguments[1], .third = arguments[2]});
  }

  /// Replaces the last node, a text, with the time that it contains.
  int literal_time(std::uint32_t at) {
    node const text = std::move(into_.nodes_.back());
    into_.nodes_.pop_back();
    if (text.what != operation::text)
      refuse(text.at, "a text in quotes; a column of type time needs no function",
             "another argument of time");
    auto const value = parse_time(text.text);
    if (!value) refuse(text.at, "a time such as '2026-11-25T22:30:00Z'", quote_for_error(text.text));
    return append({.what = operation::number, .at = at, .number = *value});
  }

  std::string_view text_;
  row_expression& into_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

row_expression::row_expression(std::string_view text, std::string_view where) : where_(where) {
  expression_parser(text, *this).parse();
}

/// Determines the types of an expression's nodes.
class expression_checker {
 public:
  using operation = row_expression::operation;
  using node = row_expression::node;

  expression_checker(row_expression const& of, table_schema const& schema) : of_(of), schema_(schema) {}

  /// Type of a node; nullopt: any type (the literal `missing`).
  using known_type = std::optional<value_type>;

  known_type type_of(int index) const {
    node const& one = at(index);
    switch (one.what) {
      case operation::number:
        return value_type::number;
      case operation::text:
        return value_type::text;
      case operation::truth:
        return value_type::truth;
      case operation::missing:
        return std::nullopt;
      case operation::column:
        return column(one).has_numbers() ? value_type::number : value_type::text;
      case operation::choose: {
        require(one.first, value_type::truth);
        return same(one, one.second, one.third);
      }
      case operation::is_missing:
        type_of(one.first);
        return value_type::truth;
      case operation::length:
        require(one.first, value_type::text);
        return value_type::number;
      case operation::both:
      case operation::either:
        require(one.second, value_type::truth);
        [[fallthrough]];
      case operation::invert:
        require(one.first, value_type::truth);
        return value_type::truth;
      case operation::equal:
      case operation::unequal:
      case operation::less:
      case operation::less_equal:
      case operation::greater:
      case operation::greater_equal:
        same(one, one.first, one.second);
        check_value(one.first, one.second);
        check_value(one.second, one.first);
        return value_type::truth;
      default:
        require(one.first, value_type::number);
        if (one.second >= 0) require(one.second, value_type::number);
        return value_type::number;
    }
  }

 private:
  node const& at(int index) const { return of_.nodes()[static_cast<std::size_t>(index)]; }

  static char const* name_of_type(value_type type) {
    return type == value_type::number ? "a number" : type == value_type::truth ? "true or false" : "a text";
  }
  [[noreturn]] void refuse(node const& one, std::string expected, std::string got) const {
    refuse_expression(of_.where(), one.at, std::move(expected), std::move(got));
  }

  void require(int index, value_type wanted) const {
    known_type const got = type_of(index);
    if (got && *got != wanted) refuse(at(index), name_of_type(wanted), name_of_type(*got));
  }
  known_type same(node const& one, int first, int second) const {
    known_type const a = type_of(first), b = type_of(second);
    if (a && b && *a != *b)
      refuse(one, "two values of the same type", text_of({name_of_type(*a), " and ", name_of_type(*b)}));
    return a ? a : b;
  }

  column_schema const& column(node const& one) const {
    if (column_schema const* const found = schema_.find(one.text)) return *found;
    std::vector<std::string_view> names;
    for (column_schema const& each : schema_.columns) names.push_back(each.name);
    if (names.size() > 50) names.resize(50);
    refuse(one, "one of the columns " + names_and_nearest(one.text, names), quote_for_error(one.text));
  }

  /// Throws if a category is compared with a text that is not one of the category's values.
  void check_value(int of_column, int literal) const {
    if (at(of_column).what != operation::column || at(literal).what != operation::text) return;
    column_schema const& category = column(at(of_column));
    if (category.type != column_type::category
        || std::ranges::find(category.values, at(literal).text) != category.values.end())
      return;
    std::vector<std::string_view> const values(
        category.values.begin(),
        category.values.begin() + std::min<std::ptrdiff_t>(50, std::ssize(category.values)));
    refuse(at(literal), "one of the values " + names_and_nearest(at(literal).text, values),
           quote_for_error(at(literal).text));
  }

  row_expression const& of_;
  table_schema const& schema_;
};

value_type row_expression::type(table_schema const& schema) const {
  auto const found = expression_checker(*this, schema).type_of(static_cast<int>(nodes_.size()) - 1);
  return found.value_or(value_type::number);
}

bound_expression::bound_expression(row_expression const& expression, table_content const& table)
    : nodes_(&expression.nodes()), columns_(expression.nodes().size()) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    row_expression::node const& one = (*nodes_)[i];
    if (one.what != row_expression::operation::column) continue;
    table_column const& from = table.columns[table.by_name.find(one.text)->second];
    if (from.is_text)
      columns_[i] = {.codes = from.codes.data(), .vocabulary = from.vocabulary.data()};
    else
      columns_[i] = {.numbers = from.f64.data()};
  }
}

/// The number of characters of a text in UTF-8.
inline double characters_of(std::string_view text) {
  return static_cast<double>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

/// Returns a part of a date, such as the year; missing if the time is out of range.
inline expression_value date_part(row_expression::operation what, double seconds) {
  using enum row_expression::operation;
  if (!(std::abs(seconds) <= 9007199254740992.0)) return {.missing = true};
  calendar_time const at = calendar_of(seconds);
  switch (what) {
    case year:
      return {.number = static_cast<double>(at.year)};
    case month:
      return {.number = static_cast<double>(at.month)};
    case day:
      return {.number = static_cast<double>(at.day)};
    case hour:
      return {.number = static_cast<double>(at.hour)};
    case minute:
      return {.number = static_cast<double>(at.minute)};
    default:
      return {.number = static_cast<double>(at.weekday)};
  }
}

/// Computes an arithmetic operation.
inline double computed(row_expression::operation what, double a, double b) {
  using enum row_expression::operation;
  switch (what) {
    case abs:
      return std::abs(a);
    case sqrt:
      return std::sqrt(a);
    case exp:
      return std::exp(a);
    case log:
      return std::log(a);
    case floor:
      return std::floor(a);
    case ceil:
      return std::ceil(a);
    case round:
      return std::round(a);
    case min:
      return is_finite(a) && is_finite(b) ? std::min(a, b) : std::numeric_limits<double>::quiet_NaN();
    case max:
      return is_finite(a) && is_finite(b) ? std::max(a, b) : std::numeric_limits<double>::quiet_NaN();
    case pow:
      return std::pow(a, b);
    case negate:
      return -a;
    case add:
      return a + b;
    case subtract:
      return a - b;
    case multiply:
      return a * b;
    case divide:
      return a / b;
    default: {  // remainder, with the sign of the divisor
      double const rest = std::fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
  }
}

inline bool compares(row_expression::operation what, auto const& a, auto const& b) {
  using enum row_expression::operation;
  switch (what) {
    case equal:
      return a == b;
    case unequal:
      return a != b;
    case less:
      return a < b;
    case less_equal:
      return a <= b;
    case greater:
      return a > b;
    default:
      return a >= b;
  }
}

expression_value bound_expression::evaluate(std::size_t index, std::size_t row) const {
  using enum row_expression::operation;
  row_expression::node const& one = (*nodes_)[index];
  auto const operand = [&](int which) { return evaluate(static_cast<std::size_t>(which), row); };
  switch (one.what) {
    case number:
    case truth:
      return {.number = one.number};
    case text:
      return {.text = one.text};
    case missing:
      return {.missing = true};
    case column: {
      bound_column const& from = columns_[index];
      if (from.numbers) return {.number = from.numbers[row], .missing = !is_finite(from.numbers[row])};
      std::int32_t const code = from.codes[row];
      if (code < 0) return {.missing = true};
      return {.text = from.vocabulary[code]};
    }
    case choose: {
      expression_value const condition = operand(one.first);
      if (condition.missing) return {.missing = true};
      return operand(condition.number != 0 ? one.second : one.third);
    }
    case is_missing:
      return {.number = operand(one.first).missing ? 1.0 : 0.0};
    case length: {
      expression_value const of = operand(one.first);
      return {.number = characters_of(of.text), .missing = of.missing};
    }
    case invert: {
      expression_value const of = operand(one.first);
      return {.number = of.number != 0 ? 0.0 : 1.0, .missing = of.missing};
    }
    case both:
    case either: {  // three-valued logic: false and missing is false, true or missing is true
      double const decides = one.what == either ? 1 : 0;
      expression_value const a = operand(one.first);
      if (!a.missing && a.number == decides) return a;
      expression_value const b = operand(one.second);
      if (!b.missing && b.number == decides) return b;
      return {.number = 1 - decides, .missing = a.missing || b.missing};
    }
    default:
      break;
  }
  expression_value const a = operand(one.first);
  expression_value const b = one.second >= 0 ? operand(one.second) : expression_value{};
  if (a.missing || b.missing) return {.missing = true};
  if (one.what >= equal && one.what <= greater_equal) {
    bool const texts = a.text.data() != nullptr || b.text.data() != nullptr;
    if (!texts && (!is_finite(a.number) || !is_finite(b.number))) return {.missing = true};
    return {.number = (texts ? compares(one.what, a.text, b.text) : compares(one.what, a.number, b.number))
                          ? 1.0
                          : 0.0};
  }
  if (one.what >= year && one.what <= weekday) return date_part(one.what, a.number);
  return {.number = computed(one.what, a.number, b.number)};
}

}  // namespace cohort::detail
