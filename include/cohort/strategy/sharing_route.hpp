// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cohort/codec/compressor.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cohort/communicator/link.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort {

/// How the messages of a step come to all ranks: each to all, merged on the way to one, or whichever is expected to be faster.
enum class route { by_size, to_all, merged };

namespace detail {

/// ⌈log2 P⌉
constexpr int rounds_of(int ranks) { return std::bit_width(static_cast<unsigned>(ranks - 1)); }

/// Whether merging on the way is expected to be faster than sending all messages to all, on a network where a message costs
/// as latency_equivalent_bytes says and one in a thousand elements is sent, in 12 bits.
///
/// The ring of an allgatherv takes 2(P−1) messages in turn and brings each rank P−1 contributions; the tree takes 2⌈log2 P⌉ and
/// brings its root P−1 of them, and ⌈log2 P⌉ times all P down again.
constexpr bool merges_by_size(int ranks, std::uint64_t elements) {
  int const rounds = rounds_of(ranks);
  double const contribution = 96 + 1.5e-3 * static_cast<double>(elements);
  return 2.0 * (ranks - 1 - rounds) * latency_equivalent_bytes > rounds * ranks * contribution;
}

/// Merges the messages of all ranks into one, up a binomial tree to rank 0, and brings that down to all.
///
///     rank 0 ◄─ 1     rank 0 ◄─ 2     rank 0 ◄─ 4     and back
///          2 ◄─ 3          4 ◄─ 6
///          4 ◄─ 5
///          6 ◄─ 7
///
/// Shapes    r: the residual of who merges, which keeps the remainder.
/// Order     collective.
/// Moves     each rank sends and receives at most 2⌈log2 P⌉ messages together.
/// Exact     one rank merges any two messages, so all ranks get the same bytes. (In a butterfly both of a pair would merge, and
///           with residuals of their own come to different sums.)
template <compressor C>
class message_tree {
 public:
  std::span<std::byte const> merge(communicator& world, C& codec, std::span<std::byte const> mine,
                                   expected_messages const& expected, std::span<float> r) {
    int const rank = world.rank(), size = world.size();
    merged_.assign(mine.begin(), mine.end());
    int below = 1;  // the first bit of the rank that is set: it has merged the ranks up to there
    for (; below < size && (rank & below) == 0; below *= 2) {
      if (rank + below >= size) continue;
      receive(world, rank + below, up, arrived_);
      auto const both = codec.merge(merged_, arrived_, expected, r);
      merged_.assign(both.begin(), both.end());
    }
    if (rank > 0) {
      world.send(merged_, rank - below, up);
      receive(world, rank - below, down, merged_);
    }
    for (below /= 2; below > 0; below /= 2)
      if (rank + below < size) world.send(merged_, rank + below, down);
    return merged_;
  }

 private:
  static constexpr int up = 0, down = 1;

  static void receive(communicator& world, int from, int tag, std::vector<std::byte>& to) {
    to.resize(world.wait_for_message(from, tag).bytes);
    world.receive(to, from, tag);
  }

  std::vector<std::byte> merged_;
  std::vector<std::byte> arrived_;
};

}  // namespace detail

}  // namespace cohort
