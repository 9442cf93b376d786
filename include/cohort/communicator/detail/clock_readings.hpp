// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/detail/chrono.hpp>
#include <cstdint>
#include <vector>

namespace cohort::detail {

/// A comparison of two clocks: when rank 0's clock was at `here`, the other rank's clock was at `there`, with
/// an error of at most ± `error`.
///
/// Units     ns of std::chrono::steady_clock.
struct clock_reading {
  std::int64_t here = 0, there = 0, error = 0;

  /// Converts a time of the other rank to rank 0's clock. Interpolates between this reading and a later one.
  std::int64_t on_rank_0(std::int64_t time, clock_reading const& later) const;
};

/// Nanoseconds since the clock's epoch.
std::int64_t nanoseconds(std::chrono::steady_clock::time_point time);

/// Compares rank 0's clock with that of each other rank. Rank 0 requests the time of a rank 8 times and keeps
/// the answer with the shortest round trip. The other rank read its clock within the round trip, so the error
/// is at most half the duration of the round trip.
///
/// Order     collective, on a separate communicator without other messages.
/// After     the result on rank 0 has a reading for each rank; the results on the other ranks are empty.
/// Moves     16 messages of 8 bytes for each rank except rank 0.
/// Source    Cristian, Distributed Computing 1989.
std::vector<clock_reading> read_clocks(communicator& world);

}  // namespace cohort::detail
