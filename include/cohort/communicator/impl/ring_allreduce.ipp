// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/detail/ring_allreduce.hpp>

namespace cohort::detail {

bool ring_allreduce::advance(operation_messages& m) {
  for (;; reduce.step = 0) {
    if (reduce.step == 0 && gather.step == 0) {
      std::int64_t const grain = grain_of_parts(data.count, m.size());
      reduce = {slice_of(data, segment_of_ring(data.count, data.bytes(), segment, m.size())), op, grain};
      gather = {reduce.data, grain};
    }
    if (phase != allreduce_phase::allgather && !reduce.advance(m)) return false;
    if (phase != allreduce_phase::reduce_scatter && !gather.advance(m)) return false;
    if (++segment == segments_of_ring(data.bytes(), m.size())) return true;
    gather.step = 0;
  }
}

std::size_t ring_allreduce::scratch_bytes(port const& through, int ranks) const {
  if (phase == allreduce_phase::allgather) return 0;
  elements const first = slice_of(data, segment_of_ring(data.count, data.bytes(), 0, ranks));
  return ring_reduce_scatter{first, op, grain_of_parts(data.count, ranks)}.scratch_bytes(through, ranks);
}

}  // namespace cohort::detail
