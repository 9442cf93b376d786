// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/task.hpp>

namespace cohort::detail {

/// Each rank's part goes once around the ring, into its place on every rank.
///
/// Shapes    `part(k)` is where rank k's part stands, k modulo P.
/// Moves     P − 1 messages a rank: all parts but that of the next rank.
template <class Part>
bool around_the_ring(task& t, Part part) {
  while (t.settled()) {
    if (t.step == t.size() - 1) return true;
    t.receive(t.wrapped(t.rank() - 1), part(t.rank() - t.step - 1));
    t.send(t.wrapped(t.rank() + 1), part(t.rank() - t.step));
    ++t.step;
  }
  return false;
}

bool ring_allgather(task& t);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/ring_allgather.ipp>
#endif
