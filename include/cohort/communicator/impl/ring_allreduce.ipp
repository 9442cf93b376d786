// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/detail/ring_allreduce.hpp>
#include <cohort/execution/partition.hpp>
#include <cstdint>

namespace cohort::detail {

/// Elements of segment k.
elements segment_of_ring(elements const& all, std::size_t k, int ranks) {
  auto const segments = static_cast<int>(segments_of_ring(all.bytes(), ranks));
  return slice_of(all, part_of({0, static_cast<std::int64_t>(all.count)}, static_cast<int>(k), segments));
}

bool ring_allreduce::advance(operation_messages& m) {
  for (;; reduce.step = 0) {
    if (reduce.step == 0) {
      reduce = {segment_of_ring(data, segment, m.size()), op};
      gather = {reduce.data};
    }
    if (!reduce.advance(m) || !gather.advance(m)) return false;
    if (++segment == segments_of_ring(data.bytes(), m.size())) return true;
  }
}

std::size_t ring_allreduce::scratch_bytes(port const& through, int ranks) const {
  return ring_reduce_scatter{segment_of_ring(data, 0, ranks), op}.scratch_bytes(through, ranks);
}

}  // namespace cohort::detail
