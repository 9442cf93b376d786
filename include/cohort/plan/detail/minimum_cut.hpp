// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
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

  void add(std::size_t from, std::size_t to, std::int64_t room) {
    pipes_of_[from].push_back(pipes_.size());
    pipes_.push_back({to, room});
    pipes_of_[to].push_back(pipes_.size());
    pipes_.push_back({from, 0});
  }

  /// Whether each node is on the end's side: of the least cuts, the one that leaves fewest there.
  std::vector<char> behind(std::size_t beginning, std::size_t end) {
    while (carry(beginning, end)) {
    }
    std::vector<char> reached(pipes_of_.size(), false);
    std::vector<std::size_t> next{end};
    reached[end] = true;
    while (!next.empty()) {
      std::size_t const node = next.back();
      next.pop_back();
      for (std::size_t const pipe : pipes_of_[node])
        if (std::size_t const from = pipes_[pipe].to; pipes_[pipe ^ 1].room > 0 && !reached[from]) {
          reached[from] = true;
          next.push_back(from);
        }
    }
    return reached;
  }

 private:
  struct pipe {
    std::size_t to;
    std::int64_t room;  // that is left; the pipe beside it leads back
  };

  /// Fills the shortest way that has room left.
  bool carry(std::size_t beginning, std::size_t end) {
    constexpr auto none = static_cast<std::size_t>(-1);
    std::vector<std::size_t> by(pipes_of_.size(), none), next{beginning};
    for (std::size_t i = 0; i < next.size() && by[end] == none; ++i)
      for (std::size_t const pipe : pipes_of_[next[i]])
        if (std::size_t const to = pipes_[pipe].to;
            pipes_[pipe].room > 0 && to != beginning && by[to] == none) {
          by[to] = pipe;
          next.push_back(to);
        }
    if (by[end] == none) return false;
    std::int64_t room = unlimited;
    for (std::size_t at = end; at != beginning; at = pipes_[by[at] ^ 1].to)
      room = std::min(room, pipes_[by[at]].room);
    for (std::size_t at = end; at != beginning; at = pipes_[by[at] ^ 1].to) {
      pipes_[by[at]].room -= room;
      pipes_[by[at] ^ 1].room += room;
    }
    return true;
  }

  std::vector<pipe> pipes_;
  std::vector<std::vector<std::size_t>> pipes_of_;
};

}  // namespace cohort::detail
