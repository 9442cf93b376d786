// SPDX-License-Identifier: Apache-2.0
#pragma once
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
  std::int64_t on_rank_0(std::int64_t time, clock_reading const& later) const;
};

std::int64_t nanoseconds(std::chrono::steady_clock::time_point time);

/// Rank 0 asks each other rank for its time, again and again, and keeps the answer that was back soonest: the clock was read
/// within that time, so half of it is the most that the reading is wrong by.
///
/// Order     collective, on a communicator of its own. Nobody asks for anything else meanwhile.
/// After     on rank 0 a reading for each rank; nothing on others.
/// Moves     16 messages of 8 bytes for each rank but 0.
/// Source    Cristian, Distributed Computing 1989.
std::vector<clock_reading> read_clocks(communicator& world);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/clock_readings.ipp>
#endif
