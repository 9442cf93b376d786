// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>

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

/// Measures the slowest link of a ring of all ranks, all of them busy at once.
///
/// Order     collective; nothing else should be under way.
/// After     the same on every rank. One rank has none: zeros.
/// Moves     9 messages of 8 bytes and 9 of 256 KiB from each rank.
/// Errors    communicator_error.
/// Source    latency and bandwidth as Hockney, Parallel Computing 1994; medians.
link_cost measure_link(communicator& world);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/link.ipp>
#endif
