// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/ring_allgather.hpp>
#include <cohort/communicator/ring_reduce_scatter.hpp>
#include <cohort/communicator/task.hpp>

namespace cohort::detail {

/// Every part is reduced on one rank, then handed to all: equal bits everywhere.
inline bool ring_allreduce(task& t) {
  if (t.phase == 0) {
    if (!ring_reduce_scatter(t)) return false;
    t.phase = 1;
    t.step = 0;
  }
  return ring_allgather(t);
}

}  // namespace cohort::detail
