// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/execution/partition.hpp>
#include <cohort/random/stream.hpp>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace cohort {

/// The order in which all ranks together see the examples in one epoch: a permutation from (seed, epoch); with sharding::local that
/// of one rank's own examples, from (seed, epoch, rank).
///
/// Exact     the same on every machine. Without shuffling it is 0, 1, 2, …
/// Source    Durstenfeld's form of Fisher and Yates' shuffle, CACM 1964.
inline void epoch_order(std::vector<std::int64_t>& order, std::uint64_t seed, std::int64_t epoch,
                        std::int64_t size, bool shuffle = true, int rank = 0) {
  order.resize(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (!shuffle) return;
  random_stream const stream(seed, "order", static_cast<std::uint64_t>(epoch),
                             static_cast<std::uint64_t>(rank));
  for (std::size_t left = order.size(); left > 1; --left)
    std::swap(order[left - 1], order[stream.below(left, left)]);
}

inline std::vector<std::int64_t> epoch_order(std::uint64_t seed, std::int64_t epoch, std::int64_t size,
                                             bool shuffle = true) {
  std::vector<std::int64_t> order;
  epoch_order(order, seed, epoch, size, shuffle);
  return order;
}

/// The global batch that begins after `position` examples: `batch` for each rank, fewer at the epoch's end. Rank r's is its part r.
///
/// Exact     from position 0 on, the k-th global batch is the k-th slice of P·B.
constexpr index_slice global_batch(std::int64_t size, std::int64_t position, int batch, int ranks) {
  std::int64_t const wanted = static_cast<std::int64_t>(batch) * ranks;
  return {position, std::clamp<std::int64_t>(size - position, 0, wanted)};
}

}  // namespace cohort
