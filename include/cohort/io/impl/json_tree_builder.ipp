// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/json_tree_builder.hpp>
#include <utility>

namespace cohort::detail {

json_tree_builder::json_tree_builder(std::string what, std::string_view name, std::size_t text_bytes,
                                     io::json_limits limits)
    : what_(std::move(what)), limits_(limits), tree_(std::make_unique<json_tree>()) {
  if (limits_.max_depth < 1 || limits_.max_depth > 1000)
    throw setting_error({.what = what_,
                         .where = "json_limits::max_depth",
                         .expected = "1 to 1000",
                         .got = {limits_.max_depth}});
  tree_->name = name;
  tree_->strings.reserve(text_bytes);  // no reallocation invalidates the views
}

void json_tree_builder::refuse(text_position at, std::string expected, std::string got) const {
  throw data_error({.what = what_,
                    .where = {tree_->name, ':', at.line, ':', at.column},
                    .expected = std::move(expected),
                    .got = std::move(got)});
}

std::string_view json_tree_builder::keep(std::string_view text) {
  std::string& all = tree_->strings;
  if (all.size() + text.size() > all.capacity())
    refuse({}, "keys and strings of at most " + std::to_string(all.capacity()) + " bytes in total", "more");
  std::size_t const begin = all.size();
  all += text;
  return std::string_view(all).substr(begin);
}

json_node& json_tree_builder::add(io::json_kind kind, text_position at) {
  std::vector<json_node>& nodes = tree_->nodes;
  if (nodes.size() >= std::min<std::size_t>(limits_.max_values, 0x7fff'fff0u))
    refuse(at, "at most " + std::to_string(limits_.max_values) + " values", "more");
  json_node made;
  made.kind = kind;
  made.line = at.line;
  made.column = at.column;
  if (!open_.empty()) {
    made.parent = open_.back().id;
    made.position = static_cast<std::uint32_t>(pending_.size() - open_.back().first_pending);
  }
  made.key = std::exchange(key_, {});
  after_key_ = false;
  pending_.push_back(static_cast<std::uint32_t>(nodes.size()));
  return nodes.emplace_back(made);
}

void json_tree_builder::begin(io::json_kind kind, text_position at) {
  if (open_.size() >= static_cast<std::size_t>(limits_.max_depth))
    refuse(at, "at most " + std::to_string(limits_.max_depth) + " levels of lists and objects", "more");
  auto const id = static_cast<std::uint32_t>(tree_->nodes.size());
  add(kind, at);
  open_.push_back({id, pending_.size()});
}

void json_tree_builder::key(std::string_view name) {
  key_ = keep(name);
  after_key_ = true;
}

void json_tree_builder::end() {
  container const closed = open_.back();
  open_.pop_back();
  std::vector<std::uint32_t>& order = tree_->order;
  json_node& node = tree_->nodes[closed.id];
  node.first_child = static_cast<std::uint32_t>(order.size());
  node.children = static_cast<std::uint32_t>(pending_.size() - closed.first_pending);
  auto const first = pending_.begin() + static_cast<std::ptrdiff_t>(closed.first_pending);
  order.insert(order.end(), first, pending_.end());
  if (node.kind == io::json_kind::object) {  // appends the children again, sorted by key
    auto const key_of = [&](std::uint32_t id) { return tree_->nodes[id].key; };
    std::stable_sort(first, pending_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return key_of(a) < key_of(b); });
    auto const same = std::adjacent_find(
        first, pending_.end(), [&](std::uint32_t a, std::uint32_t b) { return key_of(a) == key_of(b); });
    if (same != pending_.end()) {
      json_node const& second = tree_->nodes[*(same + 1)];
      refuse({second.line, second.column}, "unique field names",
             "a second field " + quote_for_error(second.key));
    }
    order.insert(order.end(), first, pending_.end());
  }
  pending_.resize(closed.first_pending);
}

void json_tree_builder::boolean(bool truth, text_position at) {
  add(io::json_kind::boolean, at).truth = truth;
}

void json_tree_builder::string(std::string_view text, text_position at) {
  std::string_view const kept = keep(text);
  add(io::json_kind::string, at).text = kept;
}

void json_tree_builder::number(double value, bool negative, std::optional<std::uint64_t> integer,
                               text_position at) {
  json_node& made = add(io::json_kind::number, at);
  made.number = value;
  made.negative = negative;
  made.integral = integer.has_value();
  made.magnitude = integer.value_or(0);
}

}  // namespace cohort::detail
