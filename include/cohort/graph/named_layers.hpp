// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/node.hpp>
#include <span>
#include <string>
#include <vector>

namespace cohort {

/// Returns the ids of the layers with these names, given or generated ("dense_1"), in the order of the names.
///
/// Errors    setting_error, with the existing names, for a name that no layer has. Inputs do not count as
///           layers.
std::vector<int> named_layers(graph_view net, std::span<std::string const> names);

}  // namespace cohort
