// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/hash.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/training/detail/separate_steps.hpp>
#include <cohort/training/detail/stateful_layers.hpp>
#include <string>

namespace cohort::detail {

/// Slot of a field among the values of a node's kind; −1 if the kind has no such field.
int slot_of(kind const& what, std::string_view name) {
  auto const found = std::ranges::find(what.fields, name, &field_info::name);
  return found == what.fields.end() ? -1 : found->first_slot;
}

bool has_field(graph_view net, int id, std::string_view name) {
  int const slot = slot_of(net.kind(id), name);
  return slot >= 0 && net.fields(id)[slot] != 0;
}

std::vector<layer_states::layer> stateful_layers(graph_view net) {
  std::vector<layer_states::layer> found;
  for (int id = 0; id < net.size(); ++id) {
    kind const& what = net.kind(id);
    if (!what.carries_state || !has_field(net, id, "stateful")) continue;
    auto const units = static_cast<std::size_t>(net.fields(id)[slot_of(what, "units")]);
    // All inputs except the first are initial states.
    found.push_back({.id = purpose_of("layer", net.name(id)),
                     .numbers = units * static_cast<std::size_t>(what.max_inputs - 1)});
  }
  return found;
}

/// Returns why a layer whose input has steps cannot continue a sequence; empty if it can.
std::string_view why_not_stepwise(graph_view net, int id) {
  if (!net.kind(id).carries_state)
    return computes_steps_separately(net, id) ? "" : "a layer that reads several steps, or step indices";
  if (has_field(net, id, "reverse")) return "a layer that processes the steps in reverse";
  if (net.inputs(id).size() > 1) return "a layer with an initial state";
  if (has_field(net, id, "returns_state")) return "a layer that returns its state";
  if (has_field(net, id, "resets_masked")) return "a layer that resets its state at masked steps";
  return {};
}

graph stepwise_network(graph_view net, int output, int steps) {
  auto const at = [](int id) { return static_cast<std::size_t>(id); };
  std::vector<char> needed(net.nodes.size(), 0), has_steps(net.nodes.size(), 0);
  needed[at(output)] = 1;
  for (int id = output; id >= 0; --id)
    for (int from : net.inputs(id)) needed[at(from)] |= needed[at(id)];
  std::vector<node> nodes(net.nodes.begin(), net.nodes.end());
  std::vector<double> values(net.values.begin(), net.values.end());
  for (int id = 0; id <= output; ++id) {
    if (!needed[at(id)]) continue;
    kind const& what = net.kind(id);
    node& made = nodes[at(id)];
    if (what.role == layer_role::input) {
      has_steps[at(id)] = made.output.rank == 2 || (made.output.rank == 1 && net.is_indices(id));
      if (!has_steps[at(id)]) continue;
      made.output[0] = steps;
      values[at(made.first_value + slot_of(what, "extents") + 1)] = steps;
      continue;
    }
    auto const from = net.inputs(id);
    bool const reads_steps = std::ranges::any_of(from, [&](int one) { return has_steps[at(one)] != 0; });
    if (!reads_steps) continue;
    if (std::string_view const why = why_not_stepwise(net, id); !why.empty())
      throw setting_error({.what = "this layer cannot continue a sequence step by step",
                           .where = net.name(id),
                           .expected = "recurrent layers that run forward, and layers that process each step "
                                       "separately",
                           .got = std::string(why)});
    has_steps[at(id)] = !has_field(net, id, "last_step");
    if (what.carries_state) values[at(made.first_value + slot_of(what, "stateful"))] = 1;
    std::vector<shape> shapes;
    for (int const one : from) shapes.push_back(nodes[at(one)].output);
    made.output = what.infer(values.data() + made.first_value, shapes).output;
  }
  return graph(graph_view{nodes, values, net.edges, net.characters});
}

stepwise_extents extents_with_steps(graph_view net, int output) {
  graph const one_step = stepwise_network(net, output, 1), two_steps = stepwise_network(net, output, 2);
  auto const differs = [&](int id) { return one_step.view()[id].output != two_steps.view()[id].output; };
  stepwise_extents made{{}, differs(output)};
  for (int const id : net.with_role(layer_role::input)) made.inputs.push_back(differs(id));
  return made;
}

}  // namespace cohort::detail
