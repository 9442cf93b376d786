// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/task.hpp>

namespace cohort::detail {

// Advance functions of tasks: they send, receive or probe one message, or query the ranks' status.

bool send_message(task& t);

bool receive_message(task& t);

/// Checks once for a message, and sets t.found.
bool probe_once(task& t);

/// Checks for a message until one has arrived.
inline bool probe_until_found(task& t) { return probe_once(t) && t.found.has_value(); }

/// Queries the status of all ranks, and sets t.standings.
bool query_all_ranks(task& t);

}  // namespace cohort::detail
