// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/task.hpp>

namespace cohort::detail {

/// In round k each rank tells the one 2ᵏ further, and hears from the one 2ᵏ before.
///
/// Moves     ⌈log2 P⌉ empty messages a rank.
/// Source    Hensgen, Finkel and Manber, 1988.
inline bool dissemination_barrier(task& t) {
  while (t.settled()) {
    int const distance = 1 << t.step;
    if (distance >= t.size()) return true;
    t.receive(t.wrapped(t.rank() - distance), {});
    t.send(t.wrapped(t.rank() + distance), {});
    ++t.step;
  }
  return false;
}

}  // namespace cohort::detail
