// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/task.hpp>

namespace cohort::detail {

/// Passes each rank's part once around the ring, so that every rank holds all parts.
///
/// Shapes    part(k) is the memory of the part of rank k modulo P.
/// Moves     P − 1 messages per rank: all parts except that of the next rank.
template <class Part>
bool pass_around_ring(task& t, Part part) {
  while (t.all_complete()) {
    if (t.step == t.size() - 1) return true;
    t.receive(t.wrapped(t.rank() - 1), part(t.rank() - t.step - 1));
    t.send(t.wrapped(t.rank() + 1), part(t.rank() - t.step));
    ++t.step;
  }
  return false;
}

/// Allgather of the equal parts of t.data.
bool ring_allgather(task& t);

}  // namespace cohort::detail
