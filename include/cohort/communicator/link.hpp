// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <cohort/communicator/communicator.hpp>
#include <cstddef>
#include <vector>

namespace cohort {

/// How many bytes more cost as much as a message, where nothing is measured: 50 µs at 1 GB/s.
inline constexpr double latency_equivalent_bytes = 50'000;

/// What a message between two ranks costs: `latency` seconds and its bytes / `bytes_per_second`.
struct link_cost {
  double latency = 0;
  double bytes_per_second = 0;

  constexpr double seconds(double messages, double bytes) const {
    return messages * latency + (bytes > 0 ? bytes / bytes_per_second : 0);
  }
};

namespace detail {

/// The median time in which each rank gets so many bytes from the rank before it, while all do.
inline double seconds_to_pass_on(communicator& world, std::size_t bytes) {
  constexpr int rounds = 9;
  using clock = std::chrono::steady_clock;
  std::vector<std::byte> out(bytes), in(bytes);
  int const next = (world.rank() + 1) % world.size(),
            before = (world.rank() + world.size() - 1) % world.size();
  double times[rounds];
  world.barrier();
  for (double& one : times) {
    auto const begin = clock::now();
    request arriving = world.start_receive(in, before, 0), leaving = world.start_send(out, next, 0);
    arriving.wait();
    leaving.wait();
    one = std::chrono::duration<double>(clock::now() - begin).count();
  }
  std::nth_element(times, times + rounds / 2, times + rounds);
  return times[rounds / 2];
}

}  // namespace detail

/// Measures the slowest link of a ring of all ranks, all of them busy at once.
///
/// Order     collective; nothing else should be under way.
/// After     the same on every rank. One rank has none: zeros.
/// Moves     9 messages of 8 bytes and 9 of 256 KiB from each rank.
/// Errors    communicator_error.
/// Source    latency and bandwidth as Hockney, Parallel Computing 1994; medians.
inline link_cost measure_link(communicator& world) {
  constexpr std::size_t small = 8, large = std::size_t{256} << 10;
  if (world.size() == 1) return {};
  auto const apart = world.duplicate();
  double times[]{detail::seconds_to_pass_on(*apart, small), detail::seconds_to_pass_on(*apart, large)};
  apart->allreduce(std::span<double>(times), reduction::maximum);
  double const longer =
      std::max(times[1] - times[0], times[1] / 2);  // on a busy machine a small one may be slow
  return {.latency = times[0], .bytes_per_second = (large - small) / longer};
}

}  // namespace cohort
