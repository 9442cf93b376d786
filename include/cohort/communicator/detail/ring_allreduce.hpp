// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/communicator/detail/task.hpp>
#include <cstddef>

namespace cohort::detail {

/// Longest message of ring_allreduce. Short messages keep the link available to operations that are started
/// later.
inline constexpr std::size_t longest_of_ring = std::size_t{512} << 10;  // bytes

/// Number of segments, as equal as possible, which are reduced one after another.
constexpr std::size_t segments_of_ring(std::size_t bytes, int ranks) {
  std::size_t const most = longest_of_ring * static_cast<std::size_t>(ranks);
  return std::max<std::size_t>(1, (bytes + most - 1) / most);
}
/// Elements of segment k.
elements segment_of_ring(elements const& all, std::size_t k, int ranks);

/// Ring allreduce, one segment after another. Each part of a segment is reduced on one rank, then gathered on
/// all ranks: bitwise equal on all ranks.
bool ring_allreduce(task& t);

}  // namespace cohort::detail
