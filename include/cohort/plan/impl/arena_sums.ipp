// SPDX-License-Identifier: Apache-2.0
#include <cohort/plan/detail/arena_sums.hpp>

namespace cohort::detail {

arena_sums::arena_sums(parameter_set& parameters) : passes_(parameters.passes()), table_(parameters.table()) {
  std::size_t first = 0;
  for (parameter const& p : table_) {
    std::size_t const end = first + (p.trains() ? (p.room + chunk - 1) / chunk : 0);
    ranges_.push_back({first, end});
    first = end;
  }
  chunks_ = first;
  memory_ = buffer(chunks_ * sizeof(double), passes_.results());
}

double arena_sums::of_layer(std::size_t p) const {
  std::size_t first = p, last = p;  // the parameters of a layer are adjacent
  while (first > 0 && table_[first - 1].node == table_[p].node) --first;
  while (last + 1 < table_.size() && table_[last + 1].node == table_[p].node) ++last;
  return total(ranges_[first].first, ranges_[last].end);
}

double arena_sums::total(std::size_t first, std::size_t end) const {
  double sum = 0;
  for (std::size_t c = first; c < end; ++c) sum += memory_.as<double>()[c];
  return sum;
}

}  // namespace cohort::detail
