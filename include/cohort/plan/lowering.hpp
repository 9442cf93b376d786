// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/node.hpp>
#include <cohort/layer/layers.hpp>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace cohort {

/// A tensor that flows between the steps of a plan.
struct plan_value {
  shape dims;
};

/// One layer, with the sum and the activation that run inside its kernel.
struct plan_step {
  int node = 0;
  int activation = -1;
  int sum = -1;             ///< of the layer's output and the step's last input
  std::vector<int> inputs;  ///< values
  int output = 0;           ///< value
};

/// A graph as a list of steps.
///
/// Order     steps run from front to back; backward goes from back to front.
struct lowered_graph {
  std::vector<plan_step> steps;
  std::vector<plan_value> values;
  std::vector<int> batch_values;   ///< the values of the graph's inputs, in the order of the graph
  std::vector<int> output_values;  ///< the values of the outputs asked for, in their order
};

namespace detail {

inline bool is_rectifier(kind const& k) { return k == kind_of<relu> || k == kind_of<leaky_relu>; }

/// Rules about who alone reads whom, of what the outputs need: they are read from outside as well.
class readers {
 public:
  readers(graph_view net, std::span<int const> outputs)
      : count_(static_cast<std::size_t>(net.size())), only_(count_.size(), -1) {
    for (int id : outputs) ++count_[static_cast<std::size_t>(id)];
    for (int id = net.size() - 1; id >= 0; --id) {
      if (!is_needed(id)) continue;
      for (int from : net.inputs(id)) {
        ++count_[static_cast<std::size_t>(from)];
        only_[static_cast<std::size_t>(from)] = id;
      }
    }
  }
  bool is_needed(int id) const { return count_[static_cast<std::size_t>(id)] > 0; }
  /// The one node that alone reads `id`, or −1.
  int sole(int id) const {
    return count_[static_cast<std::size_t>(id)] == 1 ? only_[static_cast<std::size_t>(id)] : -1;
  }

 private:
  std::vector<int> count_;
  std::vector<int> only_;
};

}  // namespace detail

/// Turns a graph into steps, with two rewrites that change no result.
///
/// Outputs     the layers whose results are wanted; none: the graph's outputs. What none of them needs is left out.
/// Pool first  relu(x) that only a max pool reads runs behind the pool: max and a rectifier commute, and there is
///             less to rectify (a quarter for a 2×2 window).
/// Fused       an activation that alone reads its layer runs inside the layer's kernel, where fuses(layer,
///             activation) allows it. So does a sum of two that alone reads its layer, where joins(layer) allows it; of two
///             such layers the first one.
inline lowered_graph lower(graph_view net, std::function<bool(kind const&, kind const&)> const& fuses,
                           std::span<int const> outputs = {},
                           std::function<bool(kind const&)> const& joins = {}) {
  lowered_graph made;
  std::vector<int> const sinks = net.outputs();
  if (outputs.empty()) outputs = sinks;
  detail::readers const readers(net, outputs);
  std::vector<int> value_of(static_cast<std::size_t>(net.size()), -1);
  std::vector<char> done(value_of.size(), false);
  auto const new_value = [&](shape const& dims) {
    made.values.push_back({dims});
    return static_cast<int>(made.values.size()) - 1;
  };
  auto const add_step = [&](int node, std::vector<int> inputs, shape const& output) {
    int const value = new_value(output);
    made.steps.push_back({.node = node, .inputs = std::move(inputs), .output = value});
    return value;
  };
  /// Which input of a sum runs the sum inside its kernel, or −1.
  auto const summing_input = [&](int id) {
    std::span<int const> const from = net.inputs(id);
    for (int i = 0; joins && net.kind(id) == kind_of<add> && from.size() == 2 && i < 2; ++i)
      if (int const layer = from[static_cast<std::size_t>(i)];
          readers.sole(layer) == id && joins(net.kind(layer)))
        return i;
    return -1;
  };
  for (int id = 0; id < net.size(); ++id) {
    auto const at = static_cast<std::size_t>(id);
    if (done[at]) continue;
    if (net.kind(id).role == layer_role::input) {
      value_of[at] = new_value(net[id].output);
      made.batch_values.push_back(value_of[at]);
      continue;
    }
    if (!readers.is_needed(id)) continue;
    std::vector<int> inputs;
    for (int from : net.inputs(id)) inputs.push_back(value_of[static_cast<std::size_t>(from)]);
    int const reader = readers.sole(id);
    if (detail::is_rectifier(net.kind(id)) && reader >= 0 && net.kind(reader) == kind_of<max_pool>) {
      int const pooled = add_step(reader, inputs, net[reader].output);
      value_of[static_cast<std::size_t>(reader)] = add_step(id, {pooled}, net[reader].output);
      done[static_cast<std::size_t>(reader)] = true;
      continue;
    }
    int const summing = summing_input(id);
    int const layer = summing < 0 ? id : net.inputs(id)[static_cast<std::size_t>(summing)];
    if (reader >= 0 && summing_input(reader) >= 0
        && net.inputs(reader)[static_cast<std::size_t>(summing_input(reader))] == id) {
      value_of[at] = inputs[0];  // runs where the other summand is there
      continue;
    }
    if (summing >= 0) std::swap(inputs[0], inputs[static_cast<std::size_t>(summing)]);
    value_of[at] = add_step(layer, inputs, net[id].output);
    if (summing >= 0) made.steps.back().sum = id;
    bool const before_pool = reader >= 0 && detail::is_rectifier(net.kind(reader))
                             && readers.sole(reader) >= 0
                             && net.kind(readers.sole(reader)) == kind_of<max_pool>;
    if (reader >= 0 && !before_pool && net.inputs(reader).size() == 1
        && fuses(net.kind(layer), net.kind(reader))) {
      made.steps.back().activation = reader;
      value_of[static_cast<std::size_t>(reader)] = value_of[at];
      done[static_cast<std::size_t>(reader)] = true;
    }
  }
  for (int id : outputs) made.output_values.push_back(value_of[static_cast<std::size_t>(id)]);
  return made;
}

/// "conv2d_1 + relu_1".
inline std::string name_of(graph_view net, plan_step const& step) {
  std::string name = net.name(step.node);
  for (int const inside : {step.sum, step.activation})
    if (inside >= 0) name += " + " + net.name(inside);
  return name;
}

}  // namespace cohort
