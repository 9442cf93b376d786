// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/detail/ring_allgather.hpp>
#include <cohort/communicator/detail/ring_allreduce.hpp>
#include <cohort/communicator/detail/ring_reduce_scatter.hpp>
#include <cohort/execution/partition.hpp>
#include <cstdint>

namespace cohort::detail {

elements segment_of_ring(elements const& all, std::size_t k, int ranks) {
  auto const segments = static_cast<std::int64_t>(segments_of_ring(all.bytes(), ranks));
  return slice_of(all,
                  part_of({0, static_cast<std::int64_t>(all.count)}, static_cast<std::int64_t>(k), segments));
}

bool ring_allreduce(task& t) {
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
