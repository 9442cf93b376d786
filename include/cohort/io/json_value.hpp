// SPDX-License-Identifier: Apache-2.0
#pragma once
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

  std::string path(std::uint32_t id) const;

  [[noreturn]] void refuse(std::uint32_t id, std::uint32_t line, std::uint32_t column, std::string expected,
                           std::string got) const;

 private:
  static bool is_plain(std::string_view key);
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
                       std::int64_t highest = std::numeric_limits<std::int64_t>::max()) const;

  std::uint64_t unsigned_integer(std::uint64_t highest = std::numeric_limits<std::uint64_t>::max()) const;

  /// The number of elements or fields.
  std::size_t size() const { return container().children; }

  json_value at(std::size_t index) const;

  json_value at(std::string_view field) const;

  /// The field, or nothing where the object has none of this name.
  std::optional<json_value> find(std::string_view field) const;

  /// Refuses an object that has any other field; a missing one is `at`'s to refuse.
  void expect_only(std::initializer_list<std::string_view> fields) const;

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
  range items() const;

  /// The name of this field in its object; empty for any other value.
  std::string_view key() const { return node().key; }
  std::string path() const { return tree_->path(id_); }

  /// Throws data_error about this value, for checks that only the caller can make.
  [[noreturn]] void refuse(std::string expected, std::string got) const;
  [[noreturn]] void refuse(std::string expected) const;

 private:
  detail::json_node const& node() const { return tree_->nodes[id_]; }

  detail::json_node const& expect(json_kind kind, char const* expected) const;

  detail::json_node const& container() const;

  std::string description() const;

  static std::string range_text(std::int64_t lowest, std::int64_t highest);

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

#ifndef COHORT_CORE_COMPILED
#include <cohort/io/impl/json_value.ipp>
#endif
