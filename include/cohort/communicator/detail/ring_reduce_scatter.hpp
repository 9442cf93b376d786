// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/task.hpp>
#include <cstddef>

namespace cohort::detail {

/// Scratch memory in bytes: one part, or 0 if the transport combines.
std::size_t scratch_of_ring(port const& at, elements const& data, int ranks);

/// Ring reduce-scatter. Each part is passed once around the ring, and every rank adds its elements. Rank p
/// gets part p last and holds its result.
///
/// Order     part p is x_{p+1} ⊕ x_{p+2} ⊕ … ⊕ x_p, from left to right, indices modulo P.
/// Moves     P − 1 messages per rank: all parts except this rank's.
bool ring_reduce_scatter(task& t);

}  // namespace cohort::detail
