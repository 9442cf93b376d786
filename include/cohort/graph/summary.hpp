// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/node.hpp>
#include <string>

namespace cohort {

namespace detail {

/// Returns the kind of a layer, its required fields and the fields that differ from their defaults: "conv2d:
/// filters 20, kernel 5, no bias".
std::string layer_text(graph_view net, int id);

}  // namespace detail

/// Returns a table of the layers: name, kind with fields, output shape, number of parameters and cost; then
/// the totals.
///
/// Units     MFLOP: million floating-point operations of one example's forward pass. Parameters include
///           running statistics.
/// Order     layers are in the order of the graph. For a network that is not a chain, the column `reads`
///           lists each layer's inputs.
std::string summary(graph_view net);

}  // namespace cohort
