// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/node.hpp>
#include <span>
#include <string>
#include <vector>

namespace cohort {

/// Returns the ids of the layers with these names, given or generated ("dense_1"), in the order of the names.
///
/// Errors    setting_error for a name that no layer has; it lists the existing names. Inputs do not count as
///           layers.
std::vector<int> named_layers(graph_view net, std::span<std::string const> names);

}  // namespace cohort
