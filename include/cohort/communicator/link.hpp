// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>

namespace cohort {

/// Number of bytes whose transfer takes as long as the latency of one message. This value, 50 µs at 1 GB/s,
/// is for links that were not measured.
inline constexpr double latency_equivalent_bytes = 50'000;

/// Cost of a message between two ranks: `latency` seconds + bytes / `bytes_per_second`.
struct link_cost {
  double latency = 0;
  double bytes_per_second = 0;

  /// Predicted time of `messages` messages with `bytes` bytes in total.
  constexpr double seconds(double messages, double bytes) const {
    return messages * latency + (bytes > 0 ? bytes / bytes_per_second : 0);
  }
};

/// Measures the slowest link of a ring of all ranks while all links are in use.
///
/// Order     collective; no other operation should be pending.
/// After     every rank has the same result; zeros if there is only one rank.
/// Moves     per rank: 9 messages of 8 bytes, 9 messages of 256 KiB, and a few short collectives.
/// Errors    communicator_error.
/// Source    latency and bandwidth as defined by Hockney, Parallel Computing 1994, but as medians of 9
///           transfers.
link_cost measure_link(communicator& world);

}  // namespace cohort
