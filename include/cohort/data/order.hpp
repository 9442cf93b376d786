// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/detail/build_check.hpp>
#include <cohort/execution/partition.hpp>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort {

/// Computes the order of the examples in one epoch: a random permutation of 0 … size − 1, or the identity
/// without `shuffle`. With sharding::global it is the order of all ranks together, and rank is 0. With
/// sharding::local it is the order of one rank's own examples.
///
/// Exact     depends only on (seed, epoch, rank, size); the same on every machine.
/// Source    Durstenfeld's form of Fisher and Yates' shuffle, CACM 1964.
void epoch_order(std::vector<std::int64_t>& order, std::uint64_t seed, std::int64_t epoch, std::int64_t size,
                 bool shuffle = true, int rank = 0);

/// Like the overload above with rank 0, but returns the order.
std::vector<std::int64_t> epoch_order(std::uint64_t seed, std::int64_t epoch, std::int64_t size,
                                      bool shuffle = true);

/// Settings of a shuffle for data that is larger than memory. Blocks of consecutive examples are put in
/// random order. Each window consists of the next blocks in that order, and its examples are shuffled. An
/// epoch thus reads whole blocks, and needs only one window in memory at a time.
///
/// Units     both fields count examples. `block` 0: all examples are shuffled together. `window` 0: 64
///           blocks. A window is rounded down to whole blocks; it has at least one.
/// Exact     each example occurs once per epoch. All windows of the same size are equally likely to contain a
///           given example, and the example is equally likely at every position of its window. Examples of
///           one block are always in one window, so they are less than one window apart. If a file is sorted
///           by class, use blocks that are much smaller than a class, and windows of many blocks.
struct block_shuffle {
  std::int64_t block = 0;
  std::int64_t window = 0;

  bool operator==(block_shuffle const&) const = default;
};

/// Divides an order into buckets of `bucket` consecutive examples. Sorts each bucket by length, ascending or
/// descending at random, and rotates it by a random offset. The examples of a batch then have similar
/// lengths, and the order of the batches is random.
///
/// Shapes    `lengths`: one per example of the data set.
/// Exact     depends only on (order, lengths, bucket, seed, epoch, rank), not on the size of batches or the
///           number of ranks. Before the rotation, examples of equal length keep their order.
void sort_in_buckets(std::vector<std::int64_t>& order, std::span<int const> lengths, std::int64_t bucket,
                     std::uint64_t seed, std::int64_t epoch, int rank = 0);

/// Returns the global batch that begins after `position` examples: `batch` examples per rank, fewer at the
/// end of the epoch. Rank r trains on part r of it (part_of).
///
/// Exact     from position 0 on, the k-th global batch is the k-th slice of ranks · batch examples.
constexpr index_slice global_batch(std::int64_t size, std::int64_t position, int batch, int ranks) {
  std::int64_t const wanted = static_cast<std::int64_t>(batch) * ranks;
  return {position, std::clamp<std::int64_t>(size - position, 0, wanted)};
}

}  // namespace cohort
