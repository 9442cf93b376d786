// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/strategy/detail/split_allreduce.hpp>

namespace cohort::detail {

void split_allreduce::start(communicator& world, elements all) {
  std::size_t const first = all.bytes() > max_unsplit_bytes && !all.space ? all.count / 2 : all.count;
  halves_[0] = world.start_allreduce({all.data, all.type, first, all.space}, reduction::sum);
  halves_[1] = first == all.count
                   ? pending_operation()
                   : world.start_allreduce(
                       {all.data + first * bytes_of(all.type), all.type, all.count - first}, reduction::sum);
}

std::chrono::steady_clock::time_point split_allreduce::wait() {
  return std::max(halves_[0].wait(), halves_[1].wait());
}

}  // namespace cohort::detail
