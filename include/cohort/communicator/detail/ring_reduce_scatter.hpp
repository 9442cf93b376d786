// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/operation_messages.hpp>
#include <cstddef>
#include <cstdint>

namespace cohort::detail {

/// Ring reduce-scatter. Each part is passed once around the ring; every rank adds its own elements. Rank p
/// receives part p last, so it holds the result of part p. The part that each rank sends to the next rank:
///
///     P = 4    rank 0     rank 1     rank 2     rank 3
///     step 0     3    ->    0    ->    1    ->    2    -> rank 0
///     step 1     2    ->    3    ->    0    ->    1    -> rank 0
///     step 2     1    ->    2    ->    3    ->    0    -> rank 0
///     result     0          1          2          3
///
/// Order     part p is x_{p+1} ⊕ x_{p+2} ⊕ … ⊕ x_p, from left to right, indices modulo P.
/// After     if a call of `advance` has returned true, every later call returns true.
/// Moves     per rank: P − 1 messages, in total (P−1)/P·n bytes for n bytes of data (all parts except this
///           rank's).
/// Source    Patarasuk and Yuan, Bandwidth Optimal All-reduce Algorithms, JPDC 2009.
struct ring_reduce_scatter {
  elements data{};
  reduction op = reduction::sum;
  std::int64_t grain = 1;  // bounds of the parts are multiples
  int step = 0;

  bool advance(operation_messages& m);
  /// One part, or 0 if the transport combines.
  std::size_t scratch_bytes(port const& through, int ranks) const;
};

}  // namespace cohort::detail
