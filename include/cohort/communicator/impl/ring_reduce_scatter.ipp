// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/detail/combine.hpp>
#include <cohort/communicator/detail/ring_reduce_scatter.hpp>

namespace cohort::detail {

std::size_t scratch_of_ring(port const& at, elements const& data, int ranks) {
  return at.wire->combines() ? 0 : (data.count / static_cast<std::size_t>(ranks) + 1) * bytes_of(data.type);
}

bool ring_reduce_scatter(task& t) {
  bool const in_place = t.at.wire->combines();
  while (t.all_complete()) {
    elements const arrived = t.part(t.rank() - t.step - 1);
    elements const coming = t.part(t.rank() - t.step - 2);
    if (t.step > 0 && !in_place) combine(t.at.vectors, arrived, t.scratch.data(), t.how);
    if (t.step == t.size() - 1) return true;
    if (in_place)
      t.receive_combining(t.wrapped(t.rank() - 1), coming);
    else
      t.receive(t.wrapped(t.rank() - 1), {t.scratch.data(), coming.bytes()});
    t.send(t.wrapped(t.rank() + 1), bytes_in(arrived));
    ++t.step;
  }
  return false;
}

}  // namespace cohort::detail
