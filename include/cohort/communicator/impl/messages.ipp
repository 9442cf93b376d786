// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/messages.hpp>
#include <cohort/detail/config.hpp>

namespace cohort::detail {

COHORT_CORE_INLINE bool send_message(task& t) {
  if (t.step++ == 0) t.send(t.peer, t.mine);
  return t.all_complete();
}

COHORT_CORE_INLINE bool receive_message(task& t) {
  if (t.step++ == 0) t.receive(t.peer, bytes_in(t.data));
  return t.all_complete();
}

COHORT_CORE_INLINE bool probe_once(task& t) {
  t.found = t.at.wire->probe(t.peer < 0 ? -1 : t.on_wire(t.peer), t.on, t.tag);
  return true;
}

COHORT_CORE_INLINE bool query_all_ranks(task& t) {
  t.standings = t.at.wire->query_ranks(t.patience);
  return true;
}

}  // namespace cohort::detail
