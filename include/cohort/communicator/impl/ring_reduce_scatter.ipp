// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/detail/ring_reduce_scatter.hpp>
#include <cohort/execution/partition.hpp>

namespace cohort::detail {

bool ring_reduce_scatter::advance(operation_messages& m) {
  for (; step < m.size(); ++step) {
    if (!m.all_complete()) return false;
    elements const arrived = m.part(data, m.rank() - step - 1, grain);
    if (step > 0) m.combine_received(arrived, op);
    if (step == m.size() - 1) continue;
    m.receive_combining(m.wrapped(m.rank() - 1), m.part(data, m.rank() - step - 2, grain), op);
    m.send(m.wrapped(m.rank() + 1), bytes_in(arrived));
  }
  return true;
}

std::size_t ring_reduce_scatter::scratch_bytes(port const& through, int ranks) const {
  if (through.wire->combines()) return 0;
  index_slice const all{0, static_cast<std::int64_t>(data.count)};
  return static_cast<std::size_t>(aligned_part_of(all, 0, ranks, grain).count) * bytes_of(data.type);
}

}  // namespace cohort::detail
