// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cohort/interchange/detail/onnx_importer.hpp>
#include <initializer_list>
#include <set>

namespace cohort::detail {

/// Finds producers, readers and constants, for patterns of several nodes that become one layer. A node that
/// reads its own output or that of a later node is no producer, so each walk along producers ends.
///
/// Before    the nodes and the constants outlive this object. Names of values are found as they were when the
///           object was made.
class onnx_patterns {
 public:
  using list = std::vector<std::int64_t>;
  using names = std::initializer_list<std::string_view>;

  onnx_patterns(std::vector<onnx_node>& nodes, std::map<std::string, onnx_value, std::less<>> const& values)
      : values_(values) {
    std::set<std::string_view> pending;  // values of this node and of later ones
    for (onnx_node const& node : nodes)
      for (std::string const& output : node.outputs)
        if (!constant(output)) pending.insert(output);
    for (onnx_node& node : nodes) {
      bool const is_sorted = std::ranges::none_of(
          node.inputs, [&](std::string const& input) { return !input.empty() && pending.contains(input); });
      for (std::string const& output : node.outputs) {
        if (is_sorted && !output.empty()) producers_.try_emplace(output, &node);
        pending.erase(output);
      }
      for (std::string const& input : node.inputs) readers_[input].push_back(&node);
    }
  }

  /// Returns whether a node is this ONNX operator with one output and no other attributes than these.
  static bool is(onnx_node const& node, std::string_view op, std::size_t inputs, names attributes = {}) {
    return node.op == op && node.domain.empty() && node.inputs.size() == inputs && node.outputs.size() == 1
           && std::ranges::all_of(node.attributes, [&](onnx_attribute const& attribute) {
                return std::ranges::find(attributes, attribute.name) != attributes.end();
              });
  }
  /// Returns the node that computes a value if it is this operator; otherwise null.
  onnx_node* producer(std::string const& name, std::string_view op, std::size_t inputs,
                      names attributes = {}) const {
    auto const found = producers_.find(name);
    return found != producers_.end() && is(*found->second, op, inputs, attributes) ? found->second : nullptr;
  }
  /// Returns the node that reads a node's output, if it is the only reader and this operator; otherwise null.
  onnx_node* only_reader(onnx_node const& node, std::string_view op, std::size_t inputs,
                         names attributes = {}) const {
    auto const found = readers_.find(node.outputs[0]);
    bool const fits =
        found != readers_.end() && found->second.size() == 1 && is(*found->second[0], op, inputs, attributes);
    return fits ? found->second[0] : nullptr;
  }
  /// Returns the input of a Cast to this type; "" for other values.
  std::string before_cast(std::string const& name, onnx_type type) const {
    onnx_node const* const cast = producer(name, "Cast", 1, {"to"});
    onnx_attribute const* const to = cast ? cast->find("to") : nullptr;
    return to && to->i == static_cast<std::int64_t>(type) ? cast->inputs[0] : std::string();
  }
  onnx_tensor const* constant(std::string const& name) const {
    auto const found = values_.find(name);
    return found == values_.end() ? nullptr : found->second.constant;
  }
  /// Returns the value of a constant with one element; nullopt for other values.
  std::optional<float> number(std::string const& name) const {
    onnx_tensor const* const found = constant(name);
    if (!found || found->elements() != 1) return std::nullopt;
    auto const values = found->floats();
    return values ? std::optional((*values)[0]) : std::nullopt;
  }
  /// Returns whether a constant of one element equals `expected`, to the rounding of f32.
  bool is_number(std::string const& name, double expected) const {
    auto const found = number(name);
    return found && std::abs(static_cast<double>(*found) - expected) <= 2e-7 * std::abs(expected);
  }
  /// Returns the elements of a constant vector of at most 16 integers; otherwise an empty list.
  list integers(std::string const& name) const {
    onnx_tensor const* const found = constant(name);
    if (!found || found->elements() > 16) return {};
    return found->integers().value_or(list{});
  }
  /// Returns whether a constant has the integers 0, 1, …, n − 1 as elements, for n > 0.
  bool is_range(std::string const& name) {
    auto const [known, is_new] = ranges_.try_emplace(name, false);
    if (!is_new) return known->second;
    onnx_tensor const* const found = constant(name);
    auto const numbers = found ? found->integers() : std::nullopt;
    if (!numbers || numbers->empty()) return false;
    for (std::size_t i = 0; i < numbers->size(); ++i)
      if ((*numbers)[i] != static_cast<std::int64_t>(i)) return false;
    return known->second = true;
  }
  /// Returns whether a constant is a lower triangular matrix of S×T booleans, with any leading extents of 1.
  bool is_lower_triangle(std::string const& name) {
    auto const [known, is_new] = triangles_.try_emplace(name, false);
    if (!is_new) return known->second;
    onnx_tensor const* const found = constant(name);
    if (!found || found->type != onnx_type::boolean || found->dims.size() < 2) return false;
    std::int64_t const columns = found->dims.back();
    if (found->elements() != columns * found->dims[found->dims.size() - 2]) return false;
    auto const width = static_cast<std::size_t>(columns);
    for (std::size_t i = 0; i < found->raw.size(); ++i)
      if ((found->raw[i] != 0) != (i % width <= i / width)) return false;
    return known->second = true;
  }

 private:
  std::map<std::string, onnx_value, std::less<>> const& values_;
  std::map<std::string, onnx_node*, std::less<>> producers_{};
  std::map<std::string, std::vector<onnx_node*>, std::less<>> readers_{};
  std::map<std::string, bool> triangles_{}, ranges_{};  // results of is_lower_triangle and is_range
};

}  // namespace cohort::detail
