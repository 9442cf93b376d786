// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/task.hpp>

namespace cohort::detail {

/// Barrier. In round k each rank sends to the rank 2ᵏ after it and receives from the rank 2ᵏ before it.
///
/// Moves     ⌈log2 P⌉ empty messages per rank.
/// Source    Hensgen, Finkel and Manber, 1988.
bool dissemination_barrier(task& t);

}  // namespace cohort::detail
