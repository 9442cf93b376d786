// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/detail/ring_reduce_scatter.hpp>

namespace cohort::detail {

bool ring_reduce_scatter::advance(operation_messages& m) {
  for (; step < m.size(); ++step) {
    if (!m.all_complete()) return false;
    elements const arrived = m.part(data, m.rank() - step - 1);
    if (step > 0) m.combine_received(arrived, op);
    if (step == m.size() - 1) continue;
    m.receive_combining(m.wrapped(m.rank() - 1), m.part(data, m.rank() - step - 2), op);
    m.send(m.wrapped(m.rank() + 1), bytes_in(arrived));
  }
  return true;
}

std::size_t ring_reduce_scatter::scratch_bytes(port const& through, int ranks) const {
  return through.wire->combines() ? 0
                                  : (data.count / static_cast<std::size_t>(ranks) + 1) * bytes_of(data.type);
}

}  // namespace cohort::detail
