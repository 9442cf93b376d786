// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/operation_messages.hpp>

namespace cohort::detail {

/// Barrier. In round k each rank sends to the rank 2ᵏ after it and receives from the rank 2ᵏ before it.
///
///     P = 4     rank 0   rank 1   rank 2   rank 3
///     round 0    -> 1     -> 2     -> 3     -> 0
///     round 1    -> 2     -> 3     -> 0     -> 1
///
/// Moves     ⌈log2 P⌉ empty messages per rank.
/// Source    Hensgen, Finkel and Manber, 1988.
struct dissemination_barrier {
  int round = 0;

  bool advance(operation_messages& m) {
    for (; m.all_complete(); ++round) {
      int const distance = 1 << round;
      if (distance >= m.size()) return true;
      m.receive(m.wrapped(m.rank() - distance), {});
      m.send(m.wrapped(m.rank() + distance), {});
    }
    return false;
  }
};

}  // namespace cohort::detail
