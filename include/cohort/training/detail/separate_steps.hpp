// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/node.hpp>

namespace cohort::detail {

/// Whether a layer without state computes each step of a sequence T×C, at inference, only from this step of
/// its inputs, and with the same parameters for every step. Losses do, and all layers with `in_place`.
bool computes_steps_separately(graph_view net, int id);

}  // namespace cohort::detail
