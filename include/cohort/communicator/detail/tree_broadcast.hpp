// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/task.hpp>

namespace cohort::detail {

/// Broadcast along a binomial tree. Ranks are counted from the root. Rank v receives from the rank whose
/// number is v without its lowest set bit. It sends to rank v + 2ᵏ for each 2ᵏ below that bit, the largest 2ᵏ
/// first.
bool tree_broadcast(task& t);

}  // namespace cohort::detail
