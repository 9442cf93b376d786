// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <cohort/graph/node.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// Ids of the layers of those names, given or generated ("dense_1"), in the order of the names.
///
/// Errors    setting_error for a name that no layer has, with those that there are; inputs are no layers.
inline std::vector<int> named_layers(graph_view net, std::span<std::string const> names) {
  std::vector<int> ids;
  for (std::string const& name : names) {
    int const id = net.find(name);
    if (id < 0 || net.kind(id).role == layer_role::input) {
      std::string known;
      for (int other = 0; other < net.size(); ++other)
        if (net.kind(other).role != layer_role::input) known += (known.empty() ? "" : ", ") + net.name(other);
      throw setting_error({.what = "the network has no layer of this name", .expected = known, .got = name});
    }
    ids.push_back(id);
  }
  return ids;
}

}  // namespace cohort
