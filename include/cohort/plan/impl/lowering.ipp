// SPDX-License-Identifier: Apache-2.0
#include <cohort/layer/layers.hpp>
#include <cohort/plan/detail/lowering.hpp>

namespace cohort::detail {

bool is_rectifier(kind const& k) { return k == kind_of<relu> || k == kind_of<leaky_relu>; }

/// Number of consumers of each node. Only consumers on which the outputs depend count. A requested output has
/// one more consumer, outside the graph.
class consumers {
 public:
  consumers(graph_view net, std::span<int const> outputs)
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
  /// The only consumer of `id`, or −1.
  int sole(int id) const {
    return count_[static_cast<std::size_t>(id)] == 1 ? only_[static_cast<std::size_t>(id)] : -1;
  }

 private:
  std::vector<int> count_;
  std::vector<int> only_;
};

/// Chains of layers that become one step: the first layer and, at inference, the layers folded into its
/// weights.
class fusion_chains {
 public:
  fusion_chains(graph_view net, consumers const& by, bool inference)
      : net_(net), by_(by), inference_(inference) {}

  /// Layers folded into the chain that starts with `first`: each is the only consumer of its predecessor.
  std::vector<int> folded(int first) const {
    std::vector<int> found;
    if (!inference_ || !net_.kind(first).takes_channel_maps) return found;
    for (int next = by_.sole(first); next >= 0 && maps_channels(next); next = by_.sole(next))
      found.push_back(next);
    return found;
  }
  /// The first layer of the chain that ends with `last`.
  int first(int last) const {
    int layer = last;
    while (inference_ && maps_channels(layer) && by_.sole(net_.inputs(layer)[0]) == layer)
      layer = net_.inputs(layer)[0];
    return inference_ && net_.kind(layer).takes_channel_maps ? layer : last;
  }

 private:
  /// Returns whether the layer maps each channel independently and has parameters of one element per channel.
  bool maps_channels(int id) const {
    if (!net_.kind(id).at_inference || net_.inputs(id).size() != 1) return false;
    shape const& output = net_[id].output;
    if (!(net_[net_.inputs(id)[0]].output == output)) return false;
    parameter_list const list = net_.parameters(id);
    for (int p = 0; p < list.count; ++p)
      if (list.specs[static_cast<std::size_t>(p)].dims.elements() != channels_of(output)) return false;
    return true;
  }

  graph_view net_;
  consumers const& by_;
  bool inference_;
};

}  // namespace cohort::detail

namespace cohort::detail {

lowered_graph lower(graph_view net, std::function<bool(kind const&, kind const&)> const& fuses_kinds,
                    std::span<int const> outputs, bool inference) {
  lowered_graph made;
  auto const fuses = [&](int layer, int follower) {
    bool const reads_mask = net.kind(layer).reads_mask && net.input_mask(layer) >= 0;
    return !reads_mask && fuses_kinds(net.kind(layer), net.kind(follower));
  };
  std::vector<int> const sinks = net.outputs();
  if (outputs.empty()) outputs = sinks;
  detail::consumers const consumers(net, outputs);
  detail::fusion_chains const fusion_chains(net, consumers, inference);
  std::vector<int> value_of(static_cast<std::size_t>(net.size()), -1);
  std::vector<char> done(value_of.size(), false);
  auto const new_value = [&](shape const& dims) {
    made.values.push_back({dims});
    return static_cast<int>(made.values.size()) - 1;
  };
  auto const values_read_by = [&](int node) {
    std::vector<int> values;
    for (int from : net.inputs(node)) values.push_back(value_of[static_cast<std::size_t>(from)]);
    return values;
  };
  /// Returns the index of the summand whose layer can run the sum `id` inside its kernel, or −1.
  auto const summing_input = [&](int id) {
    std::span<int const> const from = net.inputs(id);
    bool const sums_equal_shapes =
        net.kind(id) == kind_of<add> && from.size() == 2 && net[from[0]].output == net[from[1]].output;
    for (int i = 0; sums_equal_shapes && i < 2; ++i)
      if (int const last = from[static_cast<std::size_t>(i)];
          consumers.sole(last) == id && fuses(fusion_chains.first(last), id))
        return i;
    return -1;
  };
  auto const waits_for_summand = [&](int last) {
    int const sum = consumers.sole(last);
    int const summing = sum < 0 ? -1 : summing_input(sum);
    return summing >= 0 && net.inputs(sum)[static_cast<std::size_t>(summing)] == last;
  };
  /// Returns whether a layer may be fused as an activation. In training, a rectifier before a pool is moved
  /// after the pool instead.
  auto const may_be_inside = [&](int id) {
    if (id < 0 || net.inputs(id).size() != 1) return false;
    int const reader = consumers.sole(id);
    return inference || !detail::is_rectifier(net.kind(id)) || reader < 0
           || net.kind(reader) != kind_of<max_pool>;
  };
  for (int id = 0; id < net.size(); ++id) {
    auto const at = static_cast<std::size_t>(id);
    if (done[at]) continue;
    if (net.kind(id).role == layer_role::input) {
      value_of[at] = new_value(net[id].output);
      made.batch_values.push_back(value_of[at]);
      continue;
    }
    if (!consumers.is_needed(id)) continue;
    plan_step step{.node = id, .folded = fusion_chains.folded(id)};
    int last = step.folded.empty() ? id : step.folded.back();  // the node whose result the step computes
    for (int node : step.folded) done[static_cast<std::size_t>(node)] = true;
    if (waits_for_summand(last)) continue;
    if (int const summing = summing_input(id); summing >= 0) {
      std::span<int const> const of = net.inputs(id);
      step.node = fusion_chains.first(of[static_cast<std::size_t>(summing)]);
      step.folded = fusion_chains.folded(step.node);
      step.sum = id;
      step.inputs = values_read_by(step.node);
      step.inputs.push_back(value_of[static_cast<std::size_t>(of[static_cast<std::size_t>(1 - summing)])]);
    } else {
      step.inputs = values_read_by(id);
    }
    if (step.sum >= 0) last = id;
    int const reader = consumers.sole(last);
    if (detail::is_rectifier(net.kind(id)) && reader >= 0 && net.kind(reader) == kind_of<max_pool>) {
      int const pooled = new_value(net[reader].output);
      made.steps.push_back({.node = reader, .inputs = std::move(step.inputs), .output = pooled});
      step.inputs = {pooled};
      last = reader;
      done[static_cast<std::size_t>(reader)] = true;
    }
    step.output = new_value(net[last].output);
    value_of[static_cast<std::size_t>(last)] = step.output;
    if (int const next = consumers.sole(last); may_be_inside(next) && fuses(step.node, next)) {
      step.activation = next;
      value_of[static_cast<std::size_t>(next)] = step.output;
      done[static_cast<std::size_t>(next)] = true;
    }
    made.steps.push_back(std::move(step));
  }
  for (int id : outputs) made.output_values.push_back(value_of[static_cast<std::size_t>(id)]);
  return made;
}

std::string name_of(graph_view net, plan_step const& step) {
  std::string name = net.name(step.node);
  for (int id : step.folded) name += " + " + net.name(id);
  for (int id : {step.sum, step.activation})
    if (id >= 0) name += " + " + net.name(id);
  return name;
}

}  // namespace cohort::detail
