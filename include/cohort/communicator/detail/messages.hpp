// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/task.hpp>

namespace cohort::detail {

/// What concerns one message between two ranks, or none.

bool send_message(task& t);

bool receive_message(task& t);

bool look_for_message(task& t);

inline bool await_message(task& t) { return look_for_message(t) && t.found.has_value(); }

bool ask_everybody(task& t);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/messages.ipp>
#endif
