// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cohort/codec/compressor.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cohort/communicator/link.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort::detail {

/// Returns ⌈log2 P⌉ for P ranks.
constexpr int rounds_of(int ranks) { return std::bit_width(static_cast<unsigned>(ranks - 1)); }

/// Bytes of the messages that the root of the tree receives, and of the merged message.
struct merging_bytes {
  double received = 0, merged = 0;

  /// Bytes that are sent one after another: the merged message is sent down level by level.
  constexpr double in_sequence(int ranks) const { return received + rounds_of(ranks) * merged; }
};

/// Returns the sizes if each rank's message has `contribution` bytes and no two messages share an element.
/// `elements`: number of elements of the gradient, or 0 if unknown. With ternary coding a merged message has
/// at most about two bits per element.
constexpr merging_bytes bytes_of_merging(int ranks, double contribution, std::uint64_t elements) {
  double const most = elements > 0 ? 96 + 0.25 * static_cast<double>(elements) : 1e300;
  merging_bytes all{.merged = std::min(ranks * contribution, most)};
  for (int first = 1; first < ranks; first *= 2)
    all.received += std::min(std::min(first, ranks - first) * contribution, most);
  return all;
}

/// Returns whether merging in the tree is expected to be faster than sending all messages to all ranks.
/// Assumes that the latency of a message is the transfer time of latency_equivalent_bytes, and that one in a
/// thousand elements is sent, in 12 bits.
///
/// A ring allgatherv needs 2(P−1) consecutive messages, and each rank receives P−1 contributions. The tree
/// needs 2⌈log2 P⌉ consecutive messages.
constexpr bool merges_by_size(int ranks, std::uint64_t elements) {
  double const contribution = 96 + 1.5e-3 * static_cast<double>(elements);
  double const to_all = 2.0 * (ranks - 1) * latency_equivalent_bytes + (ranks - 1) * contribution;
  return to_all > 2.0 * rounds_of(ranks) * latency_equivalent_bytes
                      + bytes_of_merging(ranks, contribution, elements).in_sequence(ranks);
}

/// Tags of the messages to a rank's parent in the tree, and to its children.
inline constexpr int tag_up = 0, tag_down = 1;

/// Merges the messages of all ranks into one, up a binomial tree to rank 0, and broadcasts the merged message
/// down the tree.
///
///     rank 0 ◄─ 1     rank 0 ◄─ 2     rank 0 ◄─ 4     and back
///          2 ◄─ 3          4 ◄─ 6
///          4 ◄─ 5
///          6 ◄─ 7
///
/// Shapes    `residual`: this rank's residual, to which the remainders of this rank's merges are added.
/// Order     collective.
/// Moves     each rank sends and receives at most 2⌈log2 P⌉ messages in total.
/// Exact     each pair is merged by one rank, so all ranks get the same bytes. (In a butterfly both ranks of
///           a pair would merge with their own residuals and get different sums.)
template <compressor C>
class message_tree {
 public:
  std::span<std::byte const> merge(communicator& world, C& codec, std::span<std::byte const> mine,
                                   expected_messages const& expected, std::span<float> residual) {
    int const rank = world.rank(), size = world.size();
    merged_.assign(mine.begin(), mine.end());
    // The loop ends at the rank's lowest set bit, after merging ranks rank + 1 to rank + step − 1.
    int step = 1;
    for (; step < size && (rank & step) == 0; step *= 2) {
      if (rank + step >= size) continue;
      receive(world, rank + step, tag_up, received_);
      auto const both = codec.merge(merged_, received_, expected, residual);
      merged_.assign(both.begin(), both.end());
    }
    if (rank > 0) {
      world.send(merged_, rank - step, tag_up);
      receive(world, rank - step, tag_down, merged_);
    }
    for (step /= 2; step > 0; step /= 2)
      if (rank + step < size) world.send(merged_, rank + step, tag_down);
    return merged_;
  }

 private:
  static void receive(communicator& world, int from, int tag, std::vector<std::byte>& to) {
    to.resize(world.wait_for_message(from, tag).bytes);
    world.receive(to, from, tag);
  }

  std::vector<std::byte> merged_;
  std::vector<std::byte> received_;
};

}  // namespace cohort::detail
