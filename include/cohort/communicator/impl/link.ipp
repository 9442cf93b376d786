// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/communicator/link.hpp>
#include <cohort/detail/chrono.hpp>
#include <cstddef>
#include <vector>

namespace cohort::detail {

/// Returns the median time in which this rank receives `bytes` bytes from the previous rank of the ring,
/// while all ranks do the same.
double seconds_per_transfer(communicator& world, std::size_t bytes) {
  constexpr int rounds = 9;
  using clock = std::chrono::steady_clock;
  std::vector<std::byte> out(bytes), in(bytes);
  int const next = (world.rank() + 1) % world.size(),
            before = (world.rank() + world.size() - 1) % world.size();
  double times[rounds];
  world.barrier();
  for (double& one : times) {
    auto const begin = clock::now();
    pending_operation arriving = world.start_receive(in, before, 0), leaving = world.start_send(out, next, 0);
    arriving.wait();
    leaving.wait();
    one = std::chrono::duration<double>(clock::now() - begin).count();
  }
  std::nth_element(times, times + rounds / 2, times + rounds);
  return times[rounds / 2];
}

}  // namespace cohort::detail

namespace cohort {

link_cost measure_link(communicator& world) {
  constexpr std::size_t small = 8, large = std::size_t{256} << 10;
  if (world.size() == 1) return {};
  auto const apart = world.duplicate();
  double times[]{detail::seconds_per_transfer(*apart, small), detail::seconds_per_transfer(*apart, large)};
  apart->allreduce(std::span<double>(times), reduction::maximum);
  double const longer =
      std::max(times[1] - times[0], times[1] / 2);  // on a busy machine a small message may be slow
  return {.latency = times[0], .bytes_per_second = (large - small) / longer};
}

}  // namespace cohort
