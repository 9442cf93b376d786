// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/communicator/detail/task.hpp>
#include <cstddef>

namespace cohort::detail {

/// The longest message of ring_allreduce: what is started later then waits for few of them on a link.
inline constexpr std::size_t longest_of_ring = std::size_t{512} << 10;  // bytes

/// How many segments, as equal as possible, go round one after another.
constexpr std::size_t segments_of_ring(std::size_t bytes, int ranks) {
  std::size_t const most = longest_of_ring * static_cast<std::size_t>(ranks);
  return std::max<std::size_t>(1, (bytes + most - 1) / most);
}
elements segment_of_ring(elements const& all, std::size_t k, int ranks);

/// Every part of a segment is reduced on one rank, then handed to all: equal bits everywhere. One segment after another.
bool ring_allreduce(task& t);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/ring_allreduce.ipp>
#endif
