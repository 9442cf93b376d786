// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/json.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Position in a text, counted from 1.
struct text_position {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
};

/// Creates a json_tree from the events of a parser of another format.
///
/// Order     key is called before each value of an object. Calls of begin and end are balanced. Exactly one
///           value is the root.
/// Before    keys and strings are UTF-8, and have at most `text_bytes` bytes together.
/// Errors    data_error, which begins with `what`, if a field occurs twice in an object or a limit is
///           exceeded; setting_error if max_depth is out of range.
class json_tree_builder {
 public:
  json_tree_builder(std::string what, std::string_view name, std::size_t text_bytes, io::json_limits limits);

  void begin_object(text_position at) { begin(io::json_kind::object, at); }
  void begin_array(text_position at) { begin(io::json_kind::array, at); }
  void end();
  void key(std::string_view name);
  void null(text_position at) { add(io::json_kind::null, at); }
  void boolean(bool truth, text_position at);
  void string(std::string_view text, text_position at);
  /// Adds a number. `integer`: the magnitude of an integer, if the magnitude fits in 64 bits.
  void number(double value, bool negative, std::optional<std::uint64_t> integer, text_position at);

  /// Returns whether the next event must be a key, or the end of an object.
  bool needs_key() const { return !open_.empty() && is_object(open_.back()) && !after_key_; }
  /// Returns whether the root value is complete.
  bool is_complete() const { return !tree_->nodes.empty() && open_.empty(); }

  /// Throws data_error at a position.
  [[noreturn]] void refuse(text_position at, std::string expected, std::string got) const;

  /// Returns the tree.  Before: is_complete().
  std::unique_ptr<json_tree const> finish() { return std::move(tree_); }

 private:
  struct container {
    std::uint32_t id;
    std::size_t first_pending;  // index of its first child in pending_
  };

  bool is_object(container const& one) const { return tree_->nodes[one.id].kind == io::json_kind::object; }
  json_node& add(io::json_kind kind, text_position at);
  void begin(io::json_kind kind, text_position at);
  std::string_view keep(std::string_view text);

  std::string what_;
  io::json_limits limits_;
  std::unique_ptr<json_tree> tree_;
  std::vector<container> open_;
  std::vector<std::uint32_t> pending_;  // children of all open containers
  std::string_view key_;
  bool after_key_ = false;
};

}  // namespace cohort::detail
