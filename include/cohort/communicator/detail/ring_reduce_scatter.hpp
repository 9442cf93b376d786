// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/task.hpp>
#include <cstddef>

namespace cohort::detail {

/// What a rank needs beside the elements: room for one part, where the transport does not combine.
std::size_t scratch_of_ring(port const& at, elements const& data, int ranks);

/// Each part goes once around the ring and every rank adds its own; it ends at the rank of its number.
///
/// Order     part p is x_{p+1} ⊕ x_{p+2} ⊕ … ⊕ x_p, from left to right, indices modulo P.
/// Moves     P − 1 messages a rank: all parts but the own.
bool ring_reduce_scatter(task& t);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/ring_reduce_scatter.ipp>
#endif
