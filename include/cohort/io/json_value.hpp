// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::io {

/// Type of a JSON value.
enum class json_kind : std::uint8_t { null, boolean, number, string, array, object };

}  // namespace cohort::io

namespace cohort::detail {

/// One value of a json_tree.
struct json_node {
  io::json_kind kind = io::json_kind::null;
  bool truth = false;     // value of a boolean
  bool integral = false;  // a number without fraction and exponent whose magnitude fits in 64 bits
  bool negative = false;
  std::uint32_t line = 1;
  std::uint32_t column = 1;       // in characters
  std::uint32_t parent = 0;       // index of the parent; for the root: its own index
  std::uint32_t position = 0;     // index among the parent's children
  std::uint32_t first_child = 0;  // index into json_tree::order
  std::uint32_t children = 0;
  double number = 0;
  std::uint64_t magnitude = 0;  // absolute value of an integral number
  std::string_view key;         // name of an object's field
  std::string_view text;        // value of a string
};

/// A parsed text as a flat array. Values are indices into `nodes`; each node has the index of its parent.
struct json_tree {
  std::string name;     // name of the text, for error messages
  std::string strings;  // storage of the string_views; never reallocated
  std::vector<json_node> nodes;
  // The children of each container, in text order. For an object, `order` contains the children a second
  // time, sorted by key.
  std::vector<std::uint32_t> order;

  /// Returns the value's path: $.layers[3].kernel.
  std::string path(std::uint32_t id) const;

  /// Throws data_error about the value `id`, at a line and column of the text.
  [[noreturn]] void refuse(std::uint32_t id, std::uint32_t line, std::uint32_t column, std::string expected,
                           std::string got) const;

 private:
  static bool is_identifier(std::string_view key);
};

}  // namespace cohort::detail

namespace cohort::io {

/// A handle to one value of a JSON document; cheap to copy.
///
/// Before    the document outlives the handle.
/// Errors    data_error if the value has another type or is out of range, with line, column and path
///           ($.layers[3].kernel).
/// Exact     number() is the nearest double; integer() and unsigned_integer() are exact for all 64 bits.
class json_value {
 public:
  json_value(detail::json_tree const& tree, std::uint32_t id) : tree_(&tree), id_(id) {}

  json_kind kind() const { return node().kind; }
  bool is_null() const { return kind() == json_kind::null; }

  bool boolean() const { return expect(json_kind::boolean, "true or false").truth; }
  double number() const { return expect(json_kind::number, "a number").number; }
  /// Returns whether the value is a number without fraction and exponent whose magnitude fits in 64 bits.
  bool is_whole() const { return node().integral; }
  std::string_view string() const { return expect(json_kind::string, "a string").text; }

  /// Returns an integer between `lowest` and `highest`. Numbers such as 1e2 and 4.0 are integers, too, if
  /// their magnitude is at most 2^53.
  std::int64_t integer(std::int64_t lowest = std::numeric_limits<std::int64_t>::min(),
                       std::int64_t highest = std::numeric_limits<std::int64_t>::max()) const;

  /// Returns an integer between 0 and `highest`.
  std::uint64_t unsigned_integer(std::uint64_t highest = std::numeric_limits<std::uint64_t>::max()) const;

  /// Returns the number of elements of an array or fields of an object.
  std::size_t size() const { return container().children; }

  /// Returns an element of an array.
  json_value at(std::size_t index) const;

  /// Returns a field of an object.  Errors: data_error if it does not exist.
  json_value at(std::string_view field) const;

  /// Returns a field of an object; nullopt if it does not exist.
  std::optional<json_value> find(std::string_view field) const;

  /// Checks that an object has no fields except `fields`. Missing fields are not an error here.
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

  /// Returns the elements of an array or the fields of an object, in text order.
  range items() const;

  /// Returns the name of a field of an object; empty for other values.
  std::string_view key() const { return node().key; }
  /// Returns the value's path: $.layers[3].kernel.
  std::string path() const { return tree_->path(id_); }
  /// Returns name, line and column of the value in its text: "lenet.json:12:9".
  std::string location() const;

  /// Throws data_error about this value, for the caller's own checks. Without `got`, describes the value.
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

/// A parsed JSON text. The values remain valid until the document is destroyed, also if it is moved.
class json_document {
 public:
  explicit json_document(std::unique_ptr<detail::json_tree const> tree) : tree_(std::move(tree)) {}

  /// Returns the root value.
  json_value root() const& { return {*tree_, 0}; }
  json_value root() const&& = delete;

 private:
  std::unique_ptr<detail::json_tree const> tree_;
};

}  // namespace cohort::io
