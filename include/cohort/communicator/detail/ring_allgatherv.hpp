// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/task.hpp>

namespace cohort::detail {

/// Allgatherv: passes the sizes around the ring, then the bytes.
///
/// Before    `all->first` has size + 1 entries. `data` is the last `size` of them, with this rank's size
///           filled in.
bool ring_allgatherv(task& t);

}  // namespace cohort::detail
