// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/communicator/allreduce_parts.hpp>
#include <cohort/strategy/detail/split_allreduce.hpp>

namespace cohort::detail {

std::size_t split_allreduce::first_half(elements const& all) {
  bool const is_split = all.bytes() > max_unsplit_bytes && !all.space;
  return is_split ? all.count / 2 / block_of_parts * block_of_parts : all.count;
}

template <class Start>
void split_allreduce::start_halves(elements const& all, Start begin) {
  std::size_t const first = first_half(all);
  halves_[0] = begin(elements{all.data, all.type, first, all.space});
  halves_[1] = first == all.count
                   ? pending_operation()
                   : begin(elements{all.data + first * bytes_of(all.type), all.type, all.count - first});
}

void split_allreduce::start(communicator& world, elements all) {
  start_halves(all, [&](elements const& half) { return world.start_allreduce(half, reduction::sum); });
}

void split_allreduce::start_reduce_scatter(communicator& world, elements all) {
  start_halves(all,
               [&](elements const& half) { return world.start_reduce_scatter_phase(half, reduction::sum); });
}

void split_allreduce::start_allgather(communicator& world, elements all) {
  start_halves(all, [&](elements const& half) { return world.start_allgather_phase(half); });
}

std::vector<index_slice> split_allreduce::parts(element_type type, std::size_t count, int rank, int ranks) {
  std::size_t const first = first_half({nullptr, type, count});
  std::vector<index_slice> all;
  for (auto const& [begin, n] : {std::pair(std::size_t{0}, first), std::pair(first, count - first)}) {
    std::vector<index_slice> half = parts_of_allreduce(type, n, rank, ranks);
    if (half.empty() && n > 0) half.push_back({0, static_cast<std::int64_t>(n)});
    for (index_slice part : half) {
      part.first += static_cast<std::int64_t>(begin);
      if (part.count == 0) continue;
      if (!all.empty() && all.back().first + all.back().count == part.first)
        all.back().count += part.count;
      else
        all.push_back(part);
    }
  }
  return all;
}

std::chrono::steady_clock::time_point split_allreduce::wait() {
  return std::max(halves_[0].wait(), halves_[1].wait());
}

}  // namespace cohort::detail
