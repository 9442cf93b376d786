// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <charconv>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/json_string.hpp>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

enum class json_kind : std::uint8_t { null, boolean, number, string, array, object };

namespace detail {

struct json_node {
  json_kind kind = json_kind::null;
  bool truth = false;     // of a boolean
  bool integral = false;  // a number without fraction and exponent whose magnitude fits 64 bits
  bool negative = false;
  std::uint32_t line = 1;
  std::uint32_t column = 1;       // in characters
  std::uint32_t parent = 0;       // the root is its own
  std::uint32_t position = 0;     // among the parent's children
  std::uint32_t first_child = 0;  // in json_tree::order
  std::uint32_t children = 0;
  double number = 0;
  std::uint64_t magnitude = 0;  // of an integral number
  std::string_view key;         // of an object's field
  std::string_view text;        // of a string
};

/// A parsed text, flat: a value is an index into `nodes`, so it knows its parent, and depth costs no stack.
struct json_tree {
  std::string name;     // of the text, for errors
  std::string strings;  // what the views point to; never grows past its first capacity
  std::vector<json_node> nodes;
  std::vector<std::uint32_t> order;  // children of each container as written; of an object also sorted by key

  std::string path(std::uint32_t id) const {
    std::vector<std::uint32_t> way;
    for (; id != nodes[id].parent; id = nodes[id].parent) way.push_back(id);
    std::string text = "$";
    for (auto step = way.rbegin(); step != way.rend(); ++step) {
      json_node const& node = nodes[*step];
      if (nodes[node.parent].kind == json_kind::array) {
        text += '[' + std::to_string(node.position) + ']';
      } else if (is_plain(node.key)) {
        text += '.' + std::string(node.key);
      } else {
        text += '[' + shown(node.key) + ']';
      }
    }
    return text;
  }

  [[noreturn]] void refuse(std::uint32_t id, std::uint32_t line, std::uint32_t column, std::string expected,
                           std::string got) const {
    throw data_error({.what = "cannot read JSON",
                      .where = {name, ':', line, ':', column, ", ", path(id)},
                      .expected = std::move(expected),
                      .got = std::move(got)});
  }

 private:
  static bool is_plain(std::string_view key) {
    auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    auto inner = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
    return !key.empty() && key.size() <= 60 && letter(key[0]) && std::all_of(key.begin(), key.end(), inner);
  }
};

}  // namespace detail

/// One value of a JSON document: a light handle that is copied freely and lives as long as its document.
///
/// Errors    data_error that names line, column and path ($.layers[3].kernel), expected and got.
/// Exact     numbers are the nearest f64; written without fraction and exponent they also keep 64 bits.
class json_value {
 public:
  json_value(detail::json_tree const& tree, std::uint32_t id) : tree_(&tree), id_(id) {}

  json_kind kind() const { return node().kind; }
  bool is_null() const { return kind() == json_kind::null; }

  bool boolean() const { return expect(json_kind::boolean, "true or false").truth; }
  double number() const { return expect(json_kind::number, "a number").number; }
  std::string_view string() const { return expect(json_kind::string, "a string").text; }

  std::int64_t integer(std::int64_t lowest = std::numeric_limits<std::int64_t>::min(),
                       std::int64_t highest = std::numeric_limits<std::int64_t>::max()) const {
    detail::json_node const& n = node();
    constexpr auto half = std::uint64_t{1} << 63;
    if (n.integral && (n.negative ? n.magnitude <= half : n.magnitude < half)) {
      auto const value = static_cast<std::int64_t>(n.negative ? 0 - n.magnitude : n.magnitude);
      if (value >= lowest && value <= highest) return value;
    }
    refuse("an integer" + range_text(lowest, highest));
  }

  std::uint64_t unsigned_integer(std::uint64_t highest = std::numeric_limits<std::uint64_t>::max()) const {
    detail::json_node const& n = node();
    if (n.integral && (!n.negative || n.magnitude == 0) && n.magnitude <= highest) return n.magnitude;
    refuse("an integer from 0 to " + std::to_string(highest));
  }

  /// The number of elements or fields.
  std::size_t size() const { return container().children; }

  json_value at(std::size_t index) const {
    detail::json_node const& n = expect(json_kind::array, "an array");
    if (index >= n.children) {
      refuse("an array of at least " + std::to_string(index + 1));
    }
    return {*tree_, tree_->order[n.first_child + index]};
  }

  json_value at(std::string_view field) const {
    if (auto found = find(field)) return *found;
    refuse("a field " + detail::shown(field), "no such field");
  }

  /// The field, or nothing where the object has none of this name.
  std::optional<json_value> find(std::string_view field) const {
    detail::json_node const& n = expect(json_kind::object, "an object");
    auto const sorted = tree_->order.begin() + n.first_child + n.children;
    auto const found =
        std::lower_bound(sorted, sorted + n.children, field,
                         [&](std::uint32_t id, std::string_view key) { return tree_->nodes[id].key < key; });
    if (found == sorted + n.children || tree_->nodes[*found].key != field) return std::nullopt;
    return json_value{*tree_, *found};
  }

  /// Refuses an object that has any other field; a missing one is `at`'s to refuse.
  void expect_only(std::initializer_list<std::string_view> fields) const {
    expect(json_kind::object, "an object");
    for (json_value item : items()) {
      if (std::find(fields.begin(), fields.end(), item.key()) != fields.end()) continue;
      std::string known;
      for (std::string_view field : fields) known += (known.empty() ? "" : ", ") + std::string(field);
      item.refuse(known.empty() ? "no field" : "one of the fields " + known,
                  "an unknown field " + detail::shown(item.key()));
    }
  }

  class iterator {
   public:
    iterator(detail::json_tree const& tree, std::uint32_t const* at) : tree_(&tree), at_(at) {}
    json_value operator*() const { return {*tree_, *at_}; }
    iterator& operator++() { return ++at_, *this; }
    bool operator==(iterator const& other) const { return at_ == other.at_; }

   private:
    detail::json_tree const* tree_;
    std::uint32_t const* at_;
  };
  struct range {
    iterator first, last;
    iterator begin() const { return first; }
    iterator end() const { return last; }
  };

  /// The elements of an array or the fields of an object, in the order of the text.
  range items() const {
    detail::json_node const& n = container();
    std::uint32_t const* first = tree_->order.data() + n.first_child;
    return {{*tree_, first}, {*tree_, first + n.children}};
  }

  /// The name of this field in its object; empty for any other value.
  std::string_view key() const { return node().key; }
  std::string path() const { return tree_->path(id_); }

  /// Throws data_error about this value, for checks that only the caller can make.
  [[noreturn]] void refuse(std::string expected, std::string got) const {
    tree_->refuse(id_, node().line, node().column, std::move(expected), std::move(got));
  }
  [[noreturn]] void refuse(std::string expected) const { refuse(std::move(expected), description()); }

 private:
  detail::json_node const& node() const { return tree_->nodes[id_]; }

  detail::json_node const& expect(json_kind kind, char const* expected) const {
    if (node().kind != kind) refuse(expected);
    return node();
  }

  detail::json_node const& container() const {
    if (kind() != json_kind::array && kind() != json_kind::object) refuse("an array or an object");
    return node();
  }

  std::string description() const {
    detail::json_node const& n = node();
    switch (n.kind) {
      case json_kind::null:
        return "null";
      case json_kind::boolean:
        return n.truth ? "true" : "false";
      case json_kind::string:
        return "the string " + detail::shown(n.text);
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

  static std::string range_text(std::int64_t lowest, std::int64_t highest) {
    bool const from = lowest != std::numeric_limits<std::int64_t>::min();
    bool const to = highest != std::numeric_limits<std::int64_t>::max();
    if (from && to) return " from " + std::to_string(lowest) + " to " + std::to_string(highest);
    if (from) return " of at least " + std::to_string(lowest);
    if (to) return " of at most " + std::to_string(highest);
    return " of 64 bits";
  }

  detail::json_tree const* tree_;
  std::uint32_t id_;
};

/// A parsed text; its values live as long as it does, also after it was moved.
class json_document {
 public:
  explicit json_document(std::unique_ptr<detail::json_tree const> tree) : tree_(std::move(tree)) {}

  json_value root() const& { return {*tree_, 0}; }
  json_value root() const&& = delete;

 private:
  std::unique_ptr<detail::json_tree const> tree_;
};

}  // namespace cohort
