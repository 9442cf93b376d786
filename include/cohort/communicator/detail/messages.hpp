// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/task.hpp>

namespace cohort::detail {

/// What concerns one message between two ranks, or none.

inline bool send_message(task& t) {
  if (t.step++ == 0) t.send(t.peer, t.mine);
  return t.settled();
}

inline bool receive_message(task& t) {
  if (t.step++ == 0) t.receive(t.peer, bytes_in(t.data));
  return t.settled();
}

inline bool look_for_message(task& t) {
  t.found = t.at.wire->probe(t.peer < 0 ? -1 : t.on_wire(t.peer), t.on, t.tag);
  return true;
}

inline bool await_message(task& t) { return look_for_message(t) && t.found.has_value(); }

inline bool ask_everybody(task& t) {
  t.standings = t.at.wire->ask(t.patience);
  return true;
}

}  // namespace cohort::detail
