// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/allreduce_parts.hpp>
#include <cohort/communicator/detail/folded_ranks.hpp>
#include <cstddef>

namespace cohort::detail {

/// Allreduce by recursive halving and doubling. Ranks exchange and reduce halves, with the most distant rank
/// first, until each has one reduced part. The ranks then gather the parts in the reverse order. The parts
/// that each rank sends, and to which rank:
///
///     P = 4      rank 0        rank 1        rank 2        rank 3
///     reduce     2, 3 -> 2     2, 3 -> 3     0, 1 -> 0     0, 1 -> 1
///                   1 -> 1        0 -> 0        3 -> 3        2 -> 2
///     gather        0 -> 1        1 -> 0        2 -> 3        3 -> 2
///                0, 1 -> 2     0, 1 -> 3     2, 3 -> 0     2, 3 -> 1
///
/// Order     each part is reduced on one rank, as a balanced tree of pairwise sums, so all ranks get the same
///           bits.
/// Moves     per rank: 2·log2 P messages, in total 2(P−1)/P·n bytes for n bytes of data. If P is not a power
///           of two, the two ranks of each pair also send each other n bytes.
/// Source    Rabenseifner, Optimization of Collective Reduction Operations, ICCS 2004.
struct recursive_halving : folded_allreduce {
  allreduce_phase phase = allreduce_phase::both;  // `both` if ranks are folded

  bool advance(operation_messages& m);
  /// Half of the elements, or all if ranks are folded; 0 if the transport combines.
  std::size_t scratch_bytes(port const& through, int ranks) const;
};

}  // namespace cohort::detail
