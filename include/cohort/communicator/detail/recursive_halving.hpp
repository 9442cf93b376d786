// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/task.hpp>
#include <cstddef>

namespace cohort::detail {

/// What a rank needs beside the elements, where the transport does not combine: room for one half, or for all where ranks
/// are folded.
std::size_t scratch_of_halving(port const& at, elements const& data, int ranks);

/// Halves are exchanged and reduced until each rank has one part, the farthest rank first; then the parts are gathered the
/// same way back.
///
/// Order     each part is reduced on one rank, from pairs of sums of as many ranks: equal bits everywhere.
/// Moves     2·log2 P messages, 2(P−1)/P·n together; where P is no power of two, one more of n each way between the ranks of a
///           pair.
/// Source    Rabenseifner, Optimization of Collective Reduction Operations, ICCS 2004.
bool recursive_halving_allreduce(task& t);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/recursive_halving.ipp>
#endif
