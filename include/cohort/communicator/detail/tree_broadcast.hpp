// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/task.hpp>

namespace cohort::detail {

/// A binomial tree: counted from the root, rank v has it from v without its lowest bit, and hands it to v + 2ᵏ for
/// each 2ᵏ below that bit, the farthest first.
bool tree_broadcast(task& t);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/tree_broadcast.ipp>
#endif
