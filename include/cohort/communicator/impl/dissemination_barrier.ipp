// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/detail/dissemination_barrier.hpp>

namespace cohort::detail {

bool dissemination_barrier(task& t) {
  while (t.all_complete()) {
    int const distance = 1 << t.step;
    if (distance >= t.size()) return true;
    t.receive(t.wrapped(t.rank() - distance), {});
    t.send(t.wrapped(t.rank() + distance), {});
    ++t.step;
  }
  return false;
}

}  // namespace cohort::detail
