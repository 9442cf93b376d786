// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/detail/config.hpp>
#include <cohort/plan/detail/minimum_cut.hpp>
#include <utility>

namespace cohort::detail {

COHORT_CORE_INLINE void minimum_cut::add(std::size_t from, std::size_t to, std::int64_t room) {
  pipes_of_[from].push_back(pipes_.size());
  pipes_.push_back({to, room});
  pipes_of_[to].push_back(pipes_.size());
  pipes_.push_back({from, 0});
}

COHORT_CORE_INLINE std::vector<char> minimum_cut::behind(std::size_t beginning, std::size_t end) {
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

COHORT_CORE_INLINE bool minimum_cut::carry(std::size_t beginning, std::size_t end) {
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

}  // namespace cohort::detail
