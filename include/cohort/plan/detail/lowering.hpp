// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/node.hpp>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// Tensor that one step of a plan computes and other steps read, or an input of the batch.
struct plan_value {
  shape dims;
};

/// Step of a plan: one layer with the operations that run inside its kernel.
///
/// Order     the operations run in this order: layers folded into the weights, a sum with the last input, an
///           activation. `folded`, `sum` and `activation` are nodes; −1: none.
struct plan_step {
  int node = 0;
  std::vector<int> folded{};
  int sum = -1;
  int activation = -1;
  std::vector<int> inputs{};  ///< values
  int output = 0;             ///< value
};

/// Graph as a list of steps.
///
/// Order     forward runs the steps from first to last, backward from last to first.
struct lowered_graph {
  std::vector<plan_step> steps;
  std::vector<plan_value> values;
  std::vector<int> batch_values;   ///< values of the graph's inputs, in the graph's order
  std::vector<int> output_values;  ///< values of the requested outputs, in the requested order
};

/// Converts a graph to steps. The rewrites keep all results equal up to rounding.
///
/// Outputs     the layers whose results are requested; empty: the graph's outputs. Layers that no output
///             depends on are omitted.
/// Pool first  if a max pool is the only consumer of relu(x) or leaky_relu(x), the rectifier runs after the
///             pool, unless it is fused. max and a rectifier commute, and the pool has fewer outputs to
///             rectify (a quarter for a 2×2 window).
/// Folded      at inference, a per-channel map (batch_norm, scale) becomes part of the weights and bias of
///             the layer before it. Condition: the map is the layer's only consumer, and the layer has
///             `takes_channel_maps`.
/// Summed      a sum of two tensors of equal shape runs inside a layer's kernel. Conditions: the sum is the
///             layer's only consumer, fuses(layer, sum) is true, and the other summand is already computed.
///             If both summands qualify, the sum runs in the first one.
/// Fused       if fuses(layer, activation) is true, an activation that is the step's only consumer so far
///             runs inside the layer's kernel. At inference, this rule has priority over "Pool first",
///             because a fused activation costs nothing. In training, "Pool first" has priority.
///             A layer that reads a mask has no fused operations.
lowered_graph lower(graph_view net, std::function<bool(kind const&, kind const&)> const& fuses,
                    std::span<int const> outputs = {}, bool inference = false);

/// Name of a step, for example "conv2d_1 + batch_norm_1 + add_1 + relu_1".
std::string name_of(graph_view net, plan_step const& step);

}  // namespace cohort::detail
