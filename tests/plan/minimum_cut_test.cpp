// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/plan/detail/minimum_cut.hpp>
#include <cohort/random/stream.hpp>

#include <cstdint>
#include <vector>

namespace minimum_cut_test {

using namespace cohort;
using detail::minimum_cut;

struct edge {
  std::size_t from, to;
  std::int64_t capacity;
};

std::int64_t cut_capacity(std::vector<edge> const& edges, std::vector<char> const& sink_side) {
  std::int64_t sum = 0;
  for (edge const& one : edges)
    if (!sink_side[one.from] && sink_side[one.to]) sum += one.capacity;
  return sum;
}

std::vector<char> cut(std::size_t nodes, std::vector<edge> const& edges) {
  minimum_cut made(nodes);
  for (edge const& one : edges) made.add(one.from, one.to, one.capacity);
  return made.sink_side(0, nodes - 1);
}

TEST(minimum_cut, cuts_the_edge_of_least_capacity_and_the_last_among_equal_edges) {
  EXPECT_EQ(cut(4, {{0, 1, 5}, {1, 2, 2}, {2, 3, 7}}), (std::vector<char>{0, 0, 1, 1}));
  EXPECT_EQ(cut(4, {{0, 1, 3}, {1, 2, 3}, {2, 3, 3}}), (std::vector<char>{0, 0, 0, 1}));
}

TEST(minimum_cut, never_cuts_unbounded_edges) {
  auto const all = minimum_cut::unlimited;
  EXPECT_EQ(cut(4, {{0, 1, all}, {1, 2, 100}, {2, 3, all}, {0, 2, 0}}), (std::vector<char>{0, 0, 1, 1}));
}

TEST(minimum_cut, reroutes_flow_along_residual_edges) {
  std::vector<edge> const edges{{0, 1, 1}, {0, 2, 1}, {1, 3, 1}, {1, 4, 1}, {2, 3, 1}, {3, 5, 1}, {4, 5, 1}};
  EXPECT_EQ(cut_capacity(edges, cut(6, edges)), 2);
}

TEST(minimum_cut, equals_the_smallest_cut_found_by_exhaustive_search) {
  constexpr std::size_t nodes = 8;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    random_stream const chance(seed, "minimum cut");
    std::vector<edge> edges;
    for (std::uint64_t i = 0; i < 20; ++i)
      if (std::size_t const from = chance.below(3 * i, nodes), to = chance.below(3 * i + 1, nodes);
          from != to)
        edges.push_back({from, to, static_cast<std::int64_t>(chance.below(3 * i + 2, 10))});
    std::int64_t least = minimum_cut::unlimited;
    for (unsigned side = 0; side < 1U << (nodes - 2); ++side) {
      std::vector<char> sink_side(nodes, 0);
      sink_side[nodes - 1] = 1;
      for (std::size_t node = 1; node + 1 < nodes; ++node) sink_side[node] = side >> (node - 1) & 1;
      least = std::min(least, cut_capacity(edges, sink_side));
    }
    std::vector<char> const found = cut(nodes, edges);
    EXPECT_EQ(found[0], 0);
    EXPECT_EQ(found[nodes - 1], 1);
    EXPECT_EQ(cut_capacity(edges, found), least);
  }
}

}  // namespace minimum_cut_test
