// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/detail/ring_allgather.hpp>

namespace cohort::detail {

bool ring_allgather(task& t) {
  return pass_around_ring(t, [&](int k) { return bytes_in(t.part(k)); });
}

}  // namespace cohort::detail
