// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/plan/detail/minimum_cut.hpp>

namespace cohort::detail {

void minimum_cut::add(std::size_t from, std::size_t to, std::int64_t capacity) {
  edges_of_[from].push_back(edges_.size());
  edges_.push_back({to, capacity});
  edges_of_[to].push_back(edges_.size());
  edges_.push_back({from, 0});
}

std::vector<char> minimum_cut::sink_side(std::size_t source, std::size_t sink) {
  while (augment(source, sink)) {
  }
  std::vector<char> reached(edges_of_.size(), false);
  std::vector<std::size_t> next{sink};
  reached[sink] = true;
  while (!next.empty()) {
    std::size_t const node = next.back();
    next.pop_back();
    for (std::size_t const edge : edges_of_[node])
      if (std::size_t const from = edges_[edge].to; edges_[edge ^ 1].capacity > 0 && !reached[from]) {
        reached[from] = true;
        next.push_back(from);
      }
  }
  return reached;
}

bool minimum_cut::augment(std::size_t source, std::size_t sink) {
  constexpr auto none = static_cast<std::size_t>(-1);
  std::vector<std::size_t> by(edges_of_.size(), none), next{source};
  for (std::size_t i = 0; i < next.size() && by[sink] == none; ++i)
    for (std::size_t const edge : edges_of_[next[i]])
      if (std::size_t const to = edges_[edge].to;
          edges_[edge].capacity > 0 && to != source && by[to] == none) {
        by[to] = edge;
        next.push_back(to);
      }
  if (by[sink] == none) return false;
  std::int64_t capacity = unlimited;
  for (std::size_t at = sink; at != source; at = edges_[by[at] ^ 1].to)
    capacity = std::min(capacity, edges_[by[at]].capacity);
  for (std::size_t at = sink; at != source; at = edges_[by[at] ^ 1].to) {
    edges_[by[at]].capacity -= capacity;
    edges_[by[at] ^ 1].capacity += capacity;
  }
  return true;
}

}  // namespace cohort::detail
