// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/execution/partition.hpp>
#include <cstdint>
#include <vector>

namespace cohort {

/// The order in which all ranks together see the examples in one epoch: a permutation from (seed, epoch); with sharding::local that
/// of one rank's own examples, from (seed, epoch, rank).
///
/// Exact     the same on every machine. Without shuffling it is 0, 1, 2, …
/// Source    Durstenfeld's form of Fisher and Yates' shuffle, CACM 1964.
void epoch_order(std::vector<std::int64_t>& order, std::uint64_t seed, std::int64_t epoch, std::int64_t size,
                 bool shuffle = true, int rank = 0);

std::vector<std::int64_t> epoch_order(std::uint64_t seed, std::int64_t epoch, std::int64_t size,
                                      bool shuffle = true);

/// The global batch that begins after `position` examples: `batch` for each rank, fewer at the epoch's end. Rank r's is its part r.
///
/// Exact     from position 0 on, the k-th global batch is the k-th slice of P·B.
constexpr index_slice global_batch(std::int64_t size, std::int64_t position, int batch, int ranks) {
  std::int64_t const wanted = static_cast<std::int64_t>(batch) * ranks;
  return {position, std::clamp<std::int64_t>(size - position, 0, wanted)};
}

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/data/impl/order.ipp>
#endif
