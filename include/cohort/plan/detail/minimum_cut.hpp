// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohort::detail {

/// Minimum cut of a directed graph with edge capacities.
///
/// Units     capacity: at least 0; `unlimited`: the edge is never cut.
/// Source    Ford and Fulkerson, Maximal flow through a network, 1956; shortest augmenting paths: Edmonds and
///           Karp, 1972.
class minimum_cut {
 public:
  static constexpr std::int64_t unlimited = std::int64_t{1} << 60;

  explicit minimum_cut(std::size_t nodes) : edges_of_(nodes) {}

  /// Adds an edge.
  void add(std::size_t from, std::size_t to, std::int64_t capacity);

  /// Returns, per node, whether the node is on the sink's side of the minimum cut. Of several minimum cuts,
  /// selects the one with the fewest nodes on that side.
  std::vector<char> sink_side(std::size_t source, std::size_t sink);

 private:
  struct edge {
    std::size_t to;
    std::int64_t capacity;  // remaining; edge i ^ 1 is the reverse of edge i
  };

  /// Augments the flow along the shortest path with remaining capacity. Returns false if no such path exists.
  bool augment(std::size_t source, std::size_t sink);

  std::vector<edge> edges_;
  std::vector<std::vector<std::size_t>> edges_of_;
};

}  // namespace cohort::detail
