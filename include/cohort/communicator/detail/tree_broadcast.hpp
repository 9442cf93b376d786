// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/task.hpp>

namespace cohort::detail {

/// Broadcast along a binomial tree. Counted from the root, rank v receives from v without its lowest set bit.
/// It sends to v + 2ᵏ for each 2ᵏ below that bit, with the largest 2ᵏ first.
bool tree_broadcast(task& t);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/tree_broadcast.ipp>
#endif
