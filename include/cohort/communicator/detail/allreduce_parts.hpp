// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/communicator/allreduce_parts.hpp>
#include <cohort/communicator/detail/allreduce_algorithm.hpp>
#include <cohort/execution/partition.hpp>
#include <cstddef>
#include <cstdint>

namespace cohort::detail {

/// Phases of an allreduce: reduce-scatter, the sum of each part on one rank; allgather of the parts.
enum class allreduce_phase : std::uint8_t { both, reduce_scatter, allgather };

/// Longest message of ring_allreduce. Short messages keep the link available to operations that are started
/// later.
inline constexpr std::size_t longest_of_ring = std::size_t{512} << 10;  // bytes

/// Number of segments, as equal as possible, which are reduced one after another.
constexpr std::size_t segments_of_ring(std::size_t bytes, int ranks) {
  std::size_t const most = longest_of_ring * static_cast<std::size_t>(ranks);
  return std::max<std::size_t>(1, (bytes + most - 1) / most);
}

/// Bounds of segments and parts are multiples of this number of elements: block_of_parts, or 1 if the parts
/// would then be too unequal.
constexpr std::int64_t grain_of_parts(std::size_t count, int ranks) {
  constexpr std::size_t least_blocks = 4;  // of a part
  bool const is_large = count >= least_blocks * block_of_parts * static_cast<std::size_t>(ranks);
  return is_large ? static_cast<std::int64_t>(block_of_parts) : 1;
}

/// Elements of segment k of a ring.
constexpr index_slice segment_of_ring(std::size_t count, std::size_t bytes, std::size_t k, int ranks) {
  auto const segments = static_cast<int>(segments_of_ring(bytes, ranks));
  return aligned_part_of({0, static_cast<std::int64_t>(count)}, static_cast<int>(k), segments,
                         grain_of_parts(count, ranks));
}

}  // namespace cohort::detail
