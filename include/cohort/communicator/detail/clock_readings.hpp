// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <cohort/communicator/communicator.hpp>
#include <cstdint>
#include <vector>

namespace cohort::detail {

/// What rank 0's clock said (`here`) when another rank's said `there`, to ± `error`.
///
/// Units     ns of std::chrono::steady_clock.
struct clock_reading {
  std::int64_t here = 0, there = 0, error = 0;

  /// A time of that rank on rank 0's clock, from this reading and a later one, between which both clocks ran evenly.
  std::int64_t on_rank_0(std::int64_t time, clock_reading const& later) const {
    double const rate = later.there > there ? static_cast<double>(later.here - here)
                                                  / static_cast<double>(later.there - there)
                                            : 1;
    return here + static_cast<std::int64_t>(rate * static_cast<double>(time - there));
  }
};

inline std::int64_t nanoseconds(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

/// Rank 0 asks each other rank for its time, again and again, and keeps the answer that was back soonest: the clock was read
/// within that time, so half of it is the most that the reading is wrong by.
///
/// Order     collective, on a communicator of its own. Nobody asks for anything else meanwhile.
/// After     on rank 0 a reading for each rank; nothing on others.
/// Moves     16 messages of 8 bytes for each rank but 0.
/// Source    Cristian, Distributed Computing 1989.
inline std::vector<clock_reading> read_clocks(communicator& world) {
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
