// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/node.hpp>

namespace cohort::detail {

/// Returns whether, at inference, a layer without state computes each step of a sequence T×C only from that
/// step of its inputs, with the same parameters for every step. True for losses and in-place layers.
bool computes_steps_separately(graph_view net, int id);

}  // namespace cohort::detail
