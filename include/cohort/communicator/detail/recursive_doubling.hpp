// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/folded_ranks.hpp>
#include <cstddef>

namespace cohort::detail {

/// Allreduce by recursive doubling. In round k each rank exchanges all elements with the rank whose number
/// differs in bit k, and reduces the received elements.
///
///     P = 4     rank 0     rank 1     rank 2     rank 3
///                 x0         x1         x2         x3
///     round 0     <---------->          <---------->
///               x0 + x1    x0 + x1    x2 + x3    x2 + x3
///     round 1     <--------------------->
///                            <--------------------->
///               (x0 + x1) + (x2 + x3) on every rank
///
/// Order     the sums of 2ᵏ neighbours are added in the order of the ranks, so all ranks get the same bits.
/// Moves     per rank: log2 P messages of n bytes for n bytes of data. If P is not a power of two, the two
///           ranks of each pair also send each other n bytes.
/// Source    Thakur, Rabenseifner and Gropp, IJHPCA 2005.
struct recursive_doubling : folded_allreduce {
  bool advance(operation_messages& m);
  std::size_t scratch_bytes(port const&, int) const { return data.bytes(); }
};

}  // namespace cohort::detail
