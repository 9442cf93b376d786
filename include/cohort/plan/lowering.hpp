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

/// One layer, with what runs inside its kernel: layers folded into its weights, a sum with the last of its inputs, an
/// activation, in this order. `folded`, `sum` and `activation` are nodes.
struct plan_step {
  int node = 0;
  int activation = -1;
  std::vector<int> inputs;  ///< values
  int output = 0;           ///< value
  std::vector<int> folded{};
  int sum = -1;
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
inline bool is_sum_of_two(graph_view net, int id) {
  return net.kind(id) == kind_of<add> && net.inputs(id).size() == 2;
}

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

/// Turns a graph into steps, with rewrites that change no result, or no more than rounding does.
///
/// Outputs     the layers whose results are wanted; none: the graph's outputs. What none of them needs is left out.
/// Pool first  relu(x) that only a max pool reads runs behind the pool: max and a rectifier commute, and there is
///             less to rectify (a quarter for a 2×2 window).
/// Fused       an activation that alone reads its layer runs inside the layer's kernel, where fuses(layer,
///             activation) allows it; at inference it does rather than going behind a pool: there it costs nothing.
/// Folded      at inference, what maps each channel (batch_norm, scale) and alone reads a layer that takes it, is a part of
///             that layer's weights and bias.
/// Summed      at inference, a sum of two of which one is such a layer's output, read by the sum alone, and the other is
///             there before: inside the layer's kernel, where fuses(layer, sum) allows it.
inline lowered_graph lower(graph_view net, std::function<bool(kind const&, kind const&)> const& fuses,
                           std::span<int const> outputs = {}, bool inference = false) {
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
    made.steps.push_back({node, -1, std::move(inputs), value});
    return value;
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
    value_of[at] = add_step(id, inputs, net[id].output);
    plan_step& step = made.steps.back();
    int last = id;  // whose result the step makes
    auto const takes = [&](int node) {
      value_of[static_cast<std::size_t>(node)] = value_of[at];
      done[static_cast<std::size_t>(node)] = true;
      last = node;
      return node;
    };
    if (inference && net.kind(id).takes_channel_maps) {
      for (int next = reader; next >= 0 && net.kind(next).at_inference; next = readers.sole(last))
        step.folded.push_back(takes(next));
      int const sum = readers.sole(last);
      if (sum >= 0 && detail::is_sum_of_two(net, sum) && fuses(net.kind(id), net.kind(sum))) {
        auto const of = net.inputs(sum);
        int const other = value_of[static_cast<std::size_t>(of[0] == last ? of[1] : of[0])];
        if (other >= 0) {
          step.inputs.push_back(other);
          step.sum = takes(sum);
        }
      }
    }
    int const next = readers.sole(last);
    bool const before_pool = !inference && next >= 0 && detail::is_rectifier(net.kind(next))
                             && readers.sole(next) >= 0 && net.kind(readers.sole(next)) == kind_of<max_pool>;
    if (next >= 0 && !before_pool && net.kind(next) != kind_of<add> && net.inputs(next).size() == 1
        && fuses(net.kind(id), net.kind(next)))
      step.activation = takes(next);
  }
  for (int id : outputs) made.output_values.push_back(value_of[static_cast<std::size_t>(id)]);
  return made;
}

/// "conv2d_1 + batch_norm_1 + relu_1".
inline std::string name_of(graph_view net, plan_step const& step) {
  std::string name = net.name(step.node);
  for (int id : step.folded) name += " + " + net.name(id);
  for (int id : {step.sum, step.activation})
    if (id >= 0) name += " + " + net.name(id);
  return name;
}

}  // namespace cohort
