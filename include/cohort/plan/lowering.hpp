// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/node.hpp>
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
  std::vector<int> folded{};
  int sum = -1;
  int activation = -1;
  std::vector<int> inputs{};  ///< values
  int output = 0;             ///< value
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

/// Turns a graph into steps, with rewrites that change no result, or no more than rounding does.
///
/// Outputs     the layers whose results are wanted; none: the graph's outputs. What none of them needs is left out.
/// Pool first  in training, relu(x) that only a max pool reads runs behind the pool: max and a rectifier commute, and there is
///             less to rectify (a quarter for a 2×2 window).
/// Folded      at inference, what maps each channel (batch_norm, scale) and alone reads a layer that takes it, is a part of
///             that layer's weights and bias.
/// Summed      a sum of two that alone reads a layer runs inside the layer's kernel, where fuses(layer, sum) allows it, when
///             the other summand is there; of two such layers it is the first one.
/// Fused       an activation that alone reads all that runs inside the layer's kernel, where fuses(layer, activation) allows it;
///             at inference it does rather than going behind a pool: there it costs nothing.
lowered_graph lower(graph_view net, std::function<bool(kind const&, kind const&)> const& fuses,
                    std::span<int const> outputs = {}, bool inference = false);

/// "conv2d_1 + batch_norm_1 + add_1 + relu_1".
std::string name_of(graph_view net, plan_step const& step);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/plan/impl/lowering.ipp>
#endif
