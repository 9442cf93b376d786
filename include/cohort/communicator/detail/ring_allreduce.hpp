// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/communicator/detail/allreduce_parts.hpp>
#include <cohort/communicator/detail/ring_allgather.hpp>
#include <cohort/communicator/detail/ring_reduce_scatter.hpp>
#include <cstddef>

namespace cohort::detail {

/// Ring allreduce, one segment after another. Each part of a segment is reduced on one rank, then gathered on
/// all ranks, so all ranks get the same bits. The part of a segment that each rank sends to the next rank:
///
///     P = 4    rank 0     rank 1     rank 2     rank 3
///     step 0     3    ->    0    ->    1    ->    2    -> rank 0    reduce-scatter
///     step 1     2    ->    3    ->    0    ->    1    -> rank 0
///     step 2     1    ->    2    ->    3    ->    0    -> rank 0
///     step 3     0    ->    1    ->    2    ->    3    -> rank 0    allgather
///     step 4     3    ->    0    ->    1    ->    2    -> rank 0
///     step 5     2    ->    3    ->    0    ->    1    -> rank 0
///
/// Moves     per rank: 2(P−1) messages per segment, in total 2(P−1)/P·n bytes for n bytes of data.
/// Source    Patarasuk and Yuan, Bandwidth Optimal All-reduce Algorithms, JPDC 2009.
struct ring_allreduce {
  elements data{};
  reduction op = reduction::sum;
  allreduce_phase phase = allreduce_phase::both;
  std::size_t segment = 0;
  ring_reduce_scatter reduce{};
  ring_allgather gather{};

  bool advance(operation_messages& m);
  /// Like ring_reduce_scatter::scratch_bytes, for the first segment; no segment is longer.
  std::size_t scratch_bytes(port const& through, int ranks) const;
};

}  // namespace cohort::detail
