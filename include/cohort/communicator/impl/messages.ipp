// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/detail/messages.hpp>

namespace cohort::detail {

bool send_message(task& t) {
  if (t.step++ == 0) t.send(t.peer, t.mine);
  return t.all_complete();
}

bool receive_message(task& t) {
  if (t.step++ == 0) t.receive(t.peer, bytes_in(t.data));
  return t.all_complete();
}

bool probe_once(task& t) {
  t.found = t.at.wire->probe(t.peer < 0 ? -1 : t.on_wire(t.peer), t.on, t.tag);
  return true;
}

bool query_all_ranks(task& t) {
  t.standings = t.at.wire->query_ranks(t.patience);
  return true;
}

}  // namespace cohort::detail
