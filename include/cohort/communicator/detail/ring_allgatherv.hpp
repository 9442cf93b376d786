// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/ring_allgather.hpp>
#include <cstddef>
#include <span>

namespace cohort::detail {

/// Allgatherv: passes the sizes around the ring, then the bytes. The contribution whose size or bytes each
/// rank sends to the next rank:
///
///     P = 4    rank 0     rank 1     rank 2     rank 3
///     step 0     0    ->    1    ->    2    ->    3    -> rank 0    sizes
///     step 1     3    ->    0    ->    1    ->    2    -> rank 0
///     step 2     2    ->    3    ->    0    ->    1    -> rank 0
///     step 3     0    ->    1    ->    2    ->    3    -> rank 0    bytes
///     step 4     3    ->    0    ->    1    ->    2    -> rank 0
///     step 5     2    ->    3    ->    0    ->    1    -> rank 0
///
/// Before    `all->first` has P + 1 entries. `sizes.data` has P entries, and this rank's entry is set.
///           `sizes.data` may be the last P entries of `all->first`.
/// Moves     per rank: 2(P−1) messages, which contain P − 1 sizes of 8 bytes, and all contributions except
///           that of the next rank.
/// Source    Thakur, Rabenseifner and Gropp, IJHPCA 2005.
struct ring_allgatherv {
  ring_allgather sizes{};
  std::span<std::byte const> contribution{};
  gathered* all = nullptr;
  int step = 0;

  bool advance(operation_messages& m);
};

}  // namespace cohort::detail
