// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/task.hpp>
#include <cstddef>

namespace cohort::detail {

/// Scratch memory in bytes: half of the elements, or all if ranks are folded; 0 if the transport combines.
std::size_t scratch_of_halving(port const& at, elements const& data, int ranks);

/// Allreduce by recursive halving and doubling. Ranks exchange and reduce halves, with the most distant rank
/// first, until each has one reduced part. They then gather the parts in the reverse order.
///
/// Order     each part is reduced on one rank, as a balanced tree of pairwise sums: bitwise equal on all
///           ranks.
/// Moves     2·log2 P messages with 2(P−1)/P·n in total. If P is not a power of two, one more message of n in
///           each direction within a pair.
/// Source    Rabenseifner, Optimization of Collective Reduction Operations, ICCS 2004.
bool recursive_halving_allreduce(task& t);

}  // namespace cohort::detail
