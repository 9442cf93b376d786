// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/underflow.hpp>
#include <cohort/io/json.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

class json_parser {
 public:
  json_parser(std::string_view text, io::json_limits limits, json_tree& tree)
      : text_(text), limits_(limits), tree_(tree) {}

  void parse() {
    if (limits_.max_depth < 1 || limits_.max_depth > 1000) {
      throw setting_error({.what = "cannot read JSON",
                           .where = "json_limits::max_depth",
                           .expected = "1 to 1000",
                           .got = {limits_.max_depth}});
    }
    // Positions and value indices have 32 bits.
    std::size_t const most = std::min<std::size_t>(limits_.max_bytes, 0xffff'fff0u);
    limits_.max_values = std::min<std::size_t>(limits_.max_values, 0x7fff'fff0u);
    if (text_.size() > most) {
      throw data_error({.what = "cannot read JSON",
                        .where = tree_.name,
                        .expected = {"at most ", most, " bytes"},
                        .got = {text_.size(), " bytes"}});
    }
    // Decoded strings are never longer than the text, so no reallocation invalidates the views.
    tree_.strings.reserve(text_.size());
    skip_space();
    value(0, 0, {});
    skip_space();
    if (at_ != text_.size()) refuse("the end of the text");
  }

 private:
  // ---- position ----
  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  bool consume(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_space() {
    while (!at_end() && (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r')) ++at_;
  }

  /// Advances line_ and column_ to at_. at_ only grows, so all calls together scan the text once.
  void locate() {
    for (; located_ < at_; ++located_) {
      if (text_[located_] == '\n') {
        ++line_, column_ = 1;
      } else if ((static_cast<unsigned char>(text_[located_]) & 0xc0) != 0x80) {
        ++column_;
      }
    }
  }

  [[noreturn]] void refuse(std::string expected) { refuse(std::move(expected), description()); }
  [[noreturn]] void refuse(std::string expected, std::string got) {
    locate();
    tree_.refuse(current_, line_, column_, std::move(expected), std::move(got));
  }

  std::string description() const {
    if (at_end()) return "the end of the text";
    if (text_.substr(at_, 3) == "\xef\xbb\xbf") return "a byte order mark";
    std::size_t const length = utf8_length(text_.substr(at_));
    if (length != 0 && static_cast<unsigned char>(peek()) >= 0x20 && peek() != 0x7f) {
      return '\'' + std::string(text_.substr(at_, length)) + '\'';
    }
    constexpr char digits[] = "0123456789abcdef";
    unsigned const byte = static_cast<unsigned char>(peek());
    return std::string("byte 0x") + digits[byte >> 4] + digits[byte & 15];
  }

  // ---- values ----
  json_node& node(std::uint32_t id) { return tree_.nodes[id]; }

  void value(std::uint32_t parent, std::uint32_t position, std::string_view key) {
    if (tree_.nodes.size() >= limits_.max_values) {
      refuse("at most " + std::to_string(limits_.max_values) + " values", "more");
    }
    auto const id = static_cast<std::uint32_t>(tree_.nodes.size());
    locate();
    json_node added;
    added.line = line_, added.column = column_;
    added.parent = parent, added.position = position, added.key = key;
    tree_.nodes.push_back(added);
    pending_.push_back(id);
    current_ = id;
    if (peek() == '{') {
      object(id);
    } else if (peek() == '[') {
      array(id);
    } else if (peek() == '"') {
      node(id).kind = io::json_kind::string;
      node(id).text = string();
    } else if (peek() == '-' || is_digit(peek())) {
      number(id);
    } else {
      word(id);
    }
    current_ = parent;
  }

  void word(std::uint32_t id) {
    auto is = [&](std::string_view word) {
      if (text_.substr(at_, word.size()) != word) return false;
      at_ += word.size();
      return true;
    };
    if (is("true")) {
      node(id).kind = io::json_kind::boolean;
      node(id).truth = true;
    } else if (is("false")) {
      node(id).kind = io::json_kind::boolean;
    } else if (!is("null")) {
      refuse("a value");
    }
  }

  void array(std::uint32_t id) {
    std::size_t const children = open(id, io::json_kind::array);
    if (!consume(']')) {
      for (std::uint32_t position = 0;; ++position) {
        skip_space();
        value(id, position, {});
        skip_space();
        if (consume(']')) break;
        if (!consume(',')) refuse("',' or ']'");
      }
    }
    close(id, children);
  }

  void object(std::uint32_t id) {
    std::size_t const children = open(id, io::json_kind::object);
    if (!consume('}')) {
      for (std::uint32_t position = 0;; ++position) {
        skip_space();
        if (peek() != '"') refuse(position == 0 ? "a field name in quotes or '}'" : "a field name in quotes");
        std::string_view const key = string();
        skip_space();
        if (!consume(':')) refuse("':' after the field name " + quote_for_error(key));
        skip_space();
        value(id, position, key);
        skip_space();
        if (consume('}')) break;
        if (!consume(',')) refuse("',' or '}'");
      }
    }
    close(id, children);
    index_by_key(id);
  }

  std::size_t open(std::uint32_t id, io::json_kind kind) {
    if (depth_ == limits_.max_depth) {
      refuse("at most " + std::to_string(limits_.max_depth) + " levels of arrays and objects", "more");
    }
    ++depth_;
    node(id).kind = kind;
    ++at_;
    skip_space();
    return pending_.size();
  }

  /// Ends a container. Its children are the elements of pending_ from `first` on.
  void close(std::uint32_t id, std::size_t first) {
    --depth_;
    node(id).first_child = static_cast<std::uint32_t>(tree_.order.size());
    node(id).children = static_cast<std::uint32_t>(pending_.size() - first);
    tree_.order.insert(tree_.order.end(), pending_.begin() + static_cast<std::ptrdiff_t>(first),
                       pending_.end());
    pending_.resize(first);
  }

  /// Appends the object's children sorted by key to `order` and rejects duplicate keys.
  void index_by_key(std::uint32_t id) {
    auto& order = tree_.order;
    auto const first = static_cast<std::ptrdiff_t>(order.size());
    for (std::uint32_t i = 0; i < node(id).children; ++i) {
      order.push_back(std::uint32_t{order[node(id).first_child + i]});
    }
    std::sort(order.begin() + first, order.end(), [&](std::uint32_t a, std::uint32_t b) {
      int const three_way = node(a).key.compare(node(b).key);
      return three_way != 0 ? three_way < 0 : a < b;
    });
    auto const duplicate = std::adjacent_find(order.begin() + first, order.end(),
                                              [&](auto a, auto b) { return node(a).key == node(b).key; });
    if (duplicate == order.end()) return;
    json_node const& second = node(*(duplicate + 1));
    tree_.refuse(*(duplicate + 1), second.line, second.column, "unique field names",
                 "a second field " + quote_for_error(second.key));
  }

  // ---- numbers ----
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  void digits() {
    if (!is_digit(peek())) refuse("a digit");
    while (is_digit(peek())) ++at_;
  }

  void number(std::uint32_t id) {
    std::size_t const start = at_;
    bool const negative = consume('-');
    std::size_t const whole = at_;
    if (!consume('0')) digits();
    std::string_view const magnitude = text_.substr(whole, at_ - whole);
    bool integral = true;
    if (consume('.')) integral = false, digits();
    if (consume('e') || consume('E')) {
      integral = false;
      if (!consume('+')) consume('-');
      digits();
    }
    json_node& n = node(id);
    n.kind = io::json_kind::number;
    n.negative = negative;
    char const* const first = text_.data() + start;
    char const* const last = text_.data() + at_;
    if (std::from_chars(first, last, n.number).ec != std::errc{}) {
      if (!underflows(text_.substr(whole, at_ - whole))) {
        std::string const spelled(text_.substr(start, std::min<std::size_t>(at_ - start, 40)));
        at_ = start;
        refuse("a number within the range of a double", spelled);
      }
      n.number = negative ? -0.0 : 0.0;
    }
    n.integral = integral
                 && std::from_chars(magnitude.data(), magnitude.data() + magnitude.size(), n.magnitude).ec
                        == std::errc{};
  }

  // ---- strings ----
  std::string_view string() {
    ++at_;  // the quote
    std::string& out = tree_.strings;
    std::size_t const start = out.size();
    for (;;) {
      if (at_end()) refuse("'\"' at the end of a string");
      char const c = text_[at_];
      if (c == '"') break;
      if (c == '\\') {
        escape(out);
      } else if (static_cast<unsigned char>(c) < 0x20) {
        refuse("no control character inside a string");
      } else {
        std::size_t const length = utf8_length(text_.substr(at_));
        if (length == 0) refuse("UTF-8");
        out.append(text_, at_, length);
        at_ += length;
      }
    }
    ++at_;
    return std::string_view(out).substr(start);
  }

  void escape(std::string& out) {
    ++at_;  // the backslash
    constexpr std::string_view names = "\"\\/bfnrt";
    constexpr std::string_view bytes = "\"\\/\b\f\n\r\t";
    std::size_t const which = at_end() ? std::string_view::npos : names.find(peek());
    if (which != std::string_view::npos) {
      out += bytes[which];
      ++at_;
    } else if (consume('u')) {
      append_utf8(out, code_point());
    } else {
      refuse("one of \" \\ / b f n r t u after a backslash");
    }
  }

  std::uint32_t code_point() {
    std::uint32_t const first = four_hex_digits();
    if (first < 0xd800 || first > 0xdfff) return first;
    if (first > 0xdbff) refuse("the first half of a surrogate pair before its second half");
    if (!consume('\\') || !consume('u')) refuse("the second half of a surrogate pair");
    std::uint32_t const second = four_hex_digits();
    if (second < 0xdc00 || second > 0xdfff) refuse("the second half of a surrogate pair");
    return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
  }

  std::uint32_t four_hex_digits() {
    std::uint32_t code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      char const c = peek();
      if (is_digit(c)) {
        code = code * 16 + static_cast<std::uint32_t>(c - '0');
      } else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')) {
        code = code * 16 + static_cast<std::uint32_t>((c | 0x20) - 'a') + 10;
      } else {
        refuse("four hexadecimal digits after \\u");
      }
    }
    return code;
  }

  std::string_view text_;
  io::json_limits limits_;
  json_tree& tree_;
  std::size_t at_ = 0;
  std::size_t located_ = 0;
  std::uint32_t line_ = 1;
  std::uint32_t column_ = 1;
  std::uint32_t current_ = 0;  // the value being parsed
  int depth_ = 0;
  std::vector<std::uint32_t> pending_;  // children of all open containers
};

}  // namespace cohort::detail

namespace cohort::io {

json_document parse_json(std::string_view text, std::string_view name, json_limits limits) {
  auto tree = std::make_unique<detail::json_tree>();
  tree->name = name;
  detail::json_parser(text, limits, *tree).parse();
  return json_document(std::move(tree));
}

}  // namespace cohort::io
