// SPDX-License-Identifier: Apache-2.0
#include <cohort/graph/graph.hpp>

namespace cohort {

graph::graph(builder net) {
  if (!net.problem_.found()) net.sort_nodes();
  if (net.problem_.found())
    throw graph_error({.what = {"the network is not well formed: ", net.problem_.text().view()}});
  if (net.nodes_.empty())
    throw graph_error({.what = "the network has no layers", .expected = "at least 1 layer", .got = "none"});
  nodes_ = std::move(net.nodes_);
  values_ = std::move(net.values_);
  edges_ = std::move(net.edges_);
  characters_ = std::move(net.characters_);
}

graph::graph(graph_view parts)
    : nodes_(parts.nodes.begin(), parts.nodes.end()),
      values_(parts.values.begin(), parts.values.end()),
      edges_(parts.edges.begin(), parts.edges.end()),
      characters_(parts.characters.begin(), parts.characters.end()) {}

}  // namespace cohort
