// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohort::detail {

/// A directed network of pipes, cut where the cut pipes carry least.
///
/// Units     room: what a pipe can carry, at least 0; `unlimited`: it is never cut.
/// Source    Ford and Fulkerson, Maximal flow through a network, 1956; shortest ways first: Edmonds and Karp, 1972.
class minimum_cut {
 public:
  static constexpr std::int64_t unlimited = std::int64_t{1} << 60;

  explicit minimum_cut(std::size_t nodes) : pipes_of_(nodes) {}

  void add(std::size_t from, std::size_t to, std::int64_t room);

  /// Whether each node is on the end's side: of the least cuts, the one that leaves fewest there.
  std::vector<char> behind(std::size_t beginning, std::size_t end);

 private:
  struct pipe {
    std::size_t to;
    std::int64_t room;  // that is left; the pipe beside it leads back
  };

  /// Fills the shortest way that has room left.
  bool carry(std::size_t beginning, std::size_t end);

  std::vector<pipe> pipes_;
  std::vector<std::vector<std::size_t>> pipes_of_;
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/plan/impl/minimum_cut.ipp>
#endif
