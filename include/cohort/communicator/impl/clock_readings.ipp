// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/detail/clock_readings.hpp>

namespace cohort::detail {

std::int64_t clock_reading::on_rank_0(std::int64_t time, clock_reading const& later) const {
  double const rate = later.there > there
                          ? static_cast<double>(later.here - here) / static_cast<double>(later.there - there)
                          : 1;
  return here + static_cast<std::int64_t>(rate * static_cast<double>(time - there));
}

std::int64_t nanoseconds(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

std::vector<clock_reading> read_clocks(communicator& world) {
  constexpr int rounds = 8;
  auto const now = [] { return nanoseconds(std::chrono::steady_clock::now()); };
  std::int64_t time = 0;
  auto const message = std::as_writable_bytes(std::span(&time, 1));
  std::vector<clock_reading> all;
  if (world.rank() > 0) {
    for (int k = 0; k < rounds; ++k) {
      world.receive(message, 0, 0);
      time = now();
      world.send(message, 0, 0);
    }
    return all;
  }
  all.resize(static_cast<std::size_t>(world.size()));
  for (int rank = 1; rank < world.size(); ++rank)
    for (int k = 0; k < rounds; ++k) {
      std::int64_t const asked = now();
      world.send(message, rank, 0);
      world.receive(message, rank, 0);
      std::int64_t const half = (now() - asked) / 2;
      clock_reading& best = all[static_cast<std::size_t>(rank)];
      if (k == 0 || half < best.error) best = {.here = asked + half, .there = time, .error = half};
    }
  return all;
}

}  // namespace cohort::detail
