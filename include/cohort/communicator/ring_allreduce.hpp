// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/communicator/ring_allgather.hpp>
#include <cohort/communicator/ring_reduce_scatter.hpp>
#include <cohort/communicator/task.hpp>
#include <cstddef>

namespace cohort::detail {

/// The longest message of ring_allreduce: what is started later then waits for few of them on a link.
inline constexpr std::size_t longest_of_ring = std::size_t{512} << 10;  // bytes

/// The part of the elements from `first` on that goes round at once.
inline elements segment_of_ring(elements const& all, std::size_t first, int ranks) {
  std::size_t const most = longest_of_ring / bytes_of(all.type) * static_cast<std::size_t>(ranks);
  return {all.data + first * bytes_of(all.type), all.type, std::min(most, all.count - first)};
}

/// Every part of a segment is reduced on one rank, then handed to all: equal bits everywhere. One segment after another.
inline bool ring_allreduce(task& t) {
  enum { begins, reduces, gathers };
  for (;;) switch (t.phase) {
      case begins:
        if (t.before == 0) t.whole = t.data;
        t.data = segment_of_ring(t.whole, t.before, t.size());
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
        t.before += t.data.count;
        if (t.before == t.whole.count) return true;
        t.phase = begins;
    }
}

}  // namespace cohort::detail
