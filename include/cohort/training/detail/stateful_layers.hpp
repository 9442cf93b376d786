// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/graph.hpp>
#include <cohort/layer/detail/layer_states.hpp>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// Returns whether field `name` of a node has a value other than 0; false if the node has no such field.
bool has_field(graph_view net, int id, std::string_view name);

/// Returns the layers whose field `stateful` is set, with the number of state elements per row.
std::vector<layer_states::layer> stateful_layers(graph_view net);

/// Returns the network with `steps` steps, for inference of node `output`: its recurrent layers are stateful.
/// Nodes keep their ids, and parameters keep their indices. Nodes that `output` does not need are unchanged.
///
/// Errors    setting_error with the first layer that cannot continue a sequence step by step.
graph stepwise_network(graph_view net, int output, int steps);

/// Flags of the tensors whose first extent stepwise_network replaces with the number of steps.
struct stepwise_extents {
  std::vector<char> inputs;  // one per input of the network, in order
  bool output;
};
stepwise_extents extents_with_steps(graph_view net, int output);

}  // namespace cohort::detail
