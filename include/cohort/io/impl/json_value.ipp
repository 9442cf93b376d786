// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/json_value.hpp>

namespace cohort::detail {

std::string json_tree::path(std::uint32_t id) const {
  if (nodes.empty()) return "$";  // the text ends before its first value
  std::vector<std::uint32_t> ancestors;
  for (; id != nodes[id].parent; id = nodes[id].parent) ancestors.push_back(id);
  std::string text = "$";
  for (auto step = ancestors.rbegin(); step != ancestors.rend(); ++step) {
    json_node const& node = nodes[*step];
    if (nodes[node.parent].kind == io::json_kind::array) {
      text += '[' + std::to_string(node.position) + ']';
    } else if (is_identifier(node.key)) {
      text += '.' + std::string(node.key);
    } else {
      text += '[' + quote_for_error(node.key) + ']';
    }
  }
  return text;
}

void json_tree::refuse(std::uint32_t id, std::uint32_t line, std::uint32_t column, std::string expected,
                       std::string got) const {
  throw data_error({.what = "cannot read JSON",
                    .where = {name, ':', line, ':', column, ", ", path(id)},
                    .expected = std::move(expected),
                    .got = std::move(got)});
}

bool json_tree::is_identifier(std::string_view key) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  auto inner = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  return !key.empty() && key.size() <= 60 && letter(key[0]) && std::all_of(key.begin(), key.end(), inner);
}

/// Returns the value of an integer without its sign; nullopt for other values.
std::optional<std::uint64_t> magnitude_of(json_node const& n) {
  if (n.integral) return n.magnitude;
  constexpr double most = 9007199254740992;  // 2^53: doubles represent all integers up to it
  double const size = n.negative ? -n.number : n.number;
  if (n.kind != io::json_kind::number || !(size >= 0 && size <= most)) return std::nullopt;
  auto const whole = static_cast<std::uint64_t>(size);
  if (static_cast<double>(whole) != size) return std::nullopt;
  return whole;
}

}  // namespace cohort::detail

namespace cohort::io {

std::int64_t json_value::integer(std::int64_t lowest, std::int64_t highest) const {
  constexpr auto half = std::uint64_t{1} << 63;
  bool const negative = node().negative;
  if (auto const size = detail::magnitude_of(node()); size && (negative ? *size <= half : *size < half)) {
    auto const value = static_cast<std::int64_t>(negative ? 0 - *size : *size);
    if (value >= lowest && value <= highest) return value;
  }
  refuse("an integer" + range_text(lowest, highest));
}

std::uint64_t json_value::unsigned_integer(std::uint64_t highest) const {
  if (auto const size = detail::magnitude_of(node());
      size && (!node().negative || *size == 0) && *size <= highest)
    return *size;
  refuse("an integer from 0 to " + std::to_string(highest));
}

json_value json_value::at(std::size_t index) const {
  detail::json_node const& n = expect(json_kind::array, "an array");
  if (index >= n.children) {
    refuse("an array of at least " + std::to_string(index + 1) + (index > 0 ? " elements" : " element"));
  }
  return {*tree_, tree_->order[n.first_child + index]};
}

json_value json_value::at(std::string_view field) const {
  if (auto found = find(field)) return *found;
  refuse("a field " + detail::quote_for_error(field), "no such field");
}

std::optional<json_value> json_value::find(std::string_view field) const {
  detail::json_node const& n = expect(json_kind::object, "an object");
  auto const sorted = tree_->order.begin() + n.first_child + n.children;
  auto const found =
      std::lower_bound(sorted, sorted + n.children, field,
                       [&](std::uint32_t id, std::string_view key) { return tree_->nodes[id].key < key; });
  if (found == sorted + n.children || tree_->nodes[*found].key != field) return std::nullopt;
  return json_value{*tree_, *found};
}

void json_value::expect_only(std::initializer_list<std::string_view> fields) const {
  expect(json_kind::object, "an object");
  for (json_value item : items()) {
    if (std::find(fields.begin(), fields.end(), item.key()) != fields.end()) continue;
    std::string known;
    for (std::string_view field : fields) known += (known.empty() ? "" : ", ") + std::string(field);
    item.refuse(known.empty() ? "no field" : "one of the fields " + known,
                "an unknown field " + detail::quote_for_error(item.key()));
  }
}

json_value::range json_value::items() const {
  detail::json_node const& n = container();
  std::uint32_t const* first = tree_->order.data() + n.first_child;
  return {{*tree_, first}, {*tree_, first + n.children}};
}

std::string json_value::location() const {
  return detail::text_of({tree_->name, ":", node().line, ":", node().column});
}

void json_value::refuse(std::string expected, std::string got) const {
  tree_->refuse(id_, node().line, node().column, std::move(expected), std::move(got));
}

void json_value::refuse(std::string expected) const { refuse(std::move(expected), description()); }

detail::json_node const& json_value::expect(json_kind kind, char const* expected) const {
  if (node().kind != kind) refuse(expected);
  return node();
}

detail::json_node const& json_value::container() const {
  if (kind() != json_kind::array && kind() != json_kind::object) refuse("an array or an object");
  return node();
}

std::string json_value::description() const {
  detail::json_node const& n = node();
  switch (n.kind) {
    case json_kind::null:
      return "null";
    case json_kind::boolean:
      return n.truth ? "true" : "false";
    case json_kind::string:
      return "the string " + detail::quote_for_error(n.text);
    case json_kind::array:
      return "an array of " + std::to_string(n.children);
    case json_kind::object:
      return "an object";
    case json_kind::number:
      break;
  }
  if (n.integral) return (n.negative ? "-" : "") + std::to_string(n.magnitude);
  char digits[32];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, n.number).ptr);
}

std::string json_value::range_text(std::int64_t lowest, std::int64_t highest) {
  bool const from = lowest != std::numeric_limits<std::int64_t>::min();
  bool const to = highest != std::numeric_limits<std::int64_t>::max();
  if (from && to) return " from " + std::to_string(lowest) + " to " + std::to_string(highest);
  if (from) return " of at least " + std::to_string(lowest);
  if (to) return " of at most " + std::to_string(highest);
  return " of 64 bits";
}

}  // namespace cohort::io
