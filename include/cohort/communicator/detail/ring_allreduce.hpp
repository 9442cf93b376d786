// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/communicator/detail/ring_allgather.hpp>
#include <cohort/communicator/detail/ring_reduce_scatter.hpp>
#include <cohort/communicator/detail/task.hpp>
#include <cohort/execution/partition.hpp>
#include <cstddef>
#include <cstdint>

namespace cohort::detail {

/// The longest message of ring_allreduce: what is started later then waits for few of them on a link.
inline constexpr std::size_t longest_of_ring = std::size_t{512} << 10;  // bytes

/// How many segments, as equal as possible, go round one after another.
constexpr std::size_t segments_of_ring(std::size_t bytes, int ranks) {
  std::size_t const most = longest_of_ring * static_cast<std::size_t>(ranks);
  return std::max<std::size_t>(1, (bytes + most - 1) / most);
}
inline elements segment_of_ring(elements const& all, std::size_t k, int ranks) {
  auto const segments = static_cast<std::int64_t>(segments_of_ring(all.bytes(), ranks));
  return slice_of(all,
                  part_of({0, static_cast<std::int64_t>(all.count)}, static_cast<std::int64_t>(k), segments));
}

/// Every part of a segment is reduced on one rank, then handed to all: equal bits everywhere. One segment after another.
inline bool ring_allreduce(task& t) {
  enum { begins, reduces, gathers };
  for (;;) switch (t.phase) {
      case begins:
        if (t.segment == 0) t.whole = t.data;
        t.data = segment_of_ring(t.whole, t.segment, t.size());
        t.step = 0;
        t.phase = reduces;
        [[fallthrough]];
      case reduces:
        if (!ring_reduce_scatter(t)) return false;
        t.step = 0;
        t.phase = gathers;
        [[fallthrough]];
      default:
        if (!ring_allgather(t)) return false;
        if (++t.segment == segments_of_ring(t.whole.bytes(), t.size())) return true;
        t.phase = begins;
    }
}

}  // namespace cohort::detail
