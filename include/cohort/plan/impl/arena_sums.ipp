// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cohort/plan/detail/arena_sums.hpp>

namespace cohort::detail {

arena_sums::arena_sums(parameter_set& parameters)
    : arena_sums(parameters, std::array{parameter_set::arena_range{0, parameters.arena_elements()}}) {}

arena_sums::arena_sums(parameter_set& parameters, std::span<parameter_set::arena_range const> measured)
    : passes_(parameters.passes()), table_(parameters.table()) {
  for (parameter const& p : table_) {
    if (!p.trains()) {
      ranges_.push_back({blocks_, blocks_, 0});
      continue;
    }
    std::size_t const origin =
        parameters.range_of(parameters.buckets()[static_cast<std::size_t>(p.bucket)]).offset;
    std::size_t const lead = block - (p.offset - origin) % block;
    std::size_t const count = 1 + (std::max(p.room, lead) - lead + block - 1) / block;
    ranges_.push_back({blocks_, blocks_ + count, lead});
    blocks_ += count;
  }
  for (std::size_t p = 0; p < table_.size(); ++p)
    for (std::size_t b = ranges_[p].first; b < ranges_[p].end; ++b) {
      std::size_t const begin = table_[p].offset + before(p, b);
      auto const contains = [&](parameter_set::arena_range const& part) {
        return begin >= part.offset && begin < part.offset + part.room;
      };
      if (std::ranges::none_of(measured, contains)) continue;
      ++measured_;
      if (!runs_.empty() && runs_.back().p == p && runs_.back().end == b)
        ++runs_.back().end;
      else
        runs_.push_back({p, b, b + 1});
    }
  memory_ = buffer(blocks_ * sizeof(double), passes_.results());
}

void arena_sums::clear_others() {
  std::size_t end = 0;
  auto const clear = [&](std::size_t to) { std::ranges::fill(blocks().subspan(end, to - end), 0.0); };
  for (run const& here : runs_) {
    clear(here.first);
    end = here.end;
  }
  clear(blocks_);
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
