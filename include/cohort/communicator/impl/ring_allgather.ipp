// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/ring_allgather.hpp>
#include <cohort/detail/config.hpp>

namespace cohort::detail {

COHORT_CORE_INLINE bool ring_allgather(task& t) {
  return pass_around_ring(t, [&](int k) { return bytes_in(t.part(k)); });
}

}  // namespace cohort::detail
