// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/order.hpp>
#include <cohort/detail/chrono.hpp>
#include <cstdint>
#include <vector>

namespace cohort {

/// Settings of a loader.
struct loader_settings {
  int batch = 32;          ///< examples per rank and step
  int rank = 0;            ///< this rank
  int ranks = 1;           ///< number of ranks
  int step_ranks = 0;      ///< a step has `batch` examples for each of so many ranks; 0: `ranks`
  std::uint64_t seed = 0;  ///< seed of the shuffles
  bool shuffle = true;
  block_shuffle blocks{};   ///< shuffles an indexed data set in blocks, not as a whole
  bool drop_last = false;   ///< omits an incomplete last global batch
  int prefetch = 0;         ///< batches prepared ahead by a thread, 0 to 1024; 0: next() prepares each batch
  std::int64_t bucket = 0;  ///< consecutive examples sorted together by length, after shuffling; 0: no sort
  int readers = 1;          ///< threads that get the examples of a batch, 1 to 256; 1 for a stream
  std::chrono::milliseconds deadline = std::chrono::seconds(120);  ///< for a batch read by other threads
  /// sharding::local: the number of examples of each rank, −1 each for streams. Empty: sharding::global.
  std::vector<std::int64_t> local_sizes{};

  bool is_local() const { return !local_sizes.empty(); }
  int ranks_of_step() const { return step_ranks > 0 ? step_ranks : ranks; }
  /// Number of examples in a whole step of an indexed data set without local_sizes.
  std::int64_t examples_per_step() const { return static_cast<std::int64_t>(batch) * ranks_of_step(); }
};

}  // namespace cohort
