// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/graph/named_layers.hpp>

namespace cohort {

std::vector<int> named_layers(graph_view net, std::span<std::string const> names) {
  std::vector<int> ids;
  for (std::string const& name : names) {
    int const id = net.find(name);
    if (id < 0 || net.kind(id).role == layer_role::input) {
      std::string known;
      for (int other = 0; other < net.size(); ++other)
        if (net.kind(other).role != layer_role::input) known += (known.empty() ? "" : ", ") + net.name(other);
      throw setting_error(
          {.what = "the network has no layer with this name", .expected = {"one of ", known}, .got = name});
    }
    ids.push_back(id);
  }
  return ids;
}

}  // namespace cohort
