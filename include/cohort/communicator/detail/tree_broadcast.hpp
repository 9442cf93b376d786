// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/operation_messages.hpp>
#include <cstdint>

namespace cohort::detail {

/// Broadcast along a binomial tree. Ranks are counted from the root. Rank v receives from the rank whose
/// number is v without its lowest set bit. Rank v sends to rank v + 2ᵏ for each 2ᵏ below that bit, the
/// largest 2ᵏ first.
///
///     P = 4, root 0   rank 0   rank 1   rank 2   rank 3
///                      n ----------------> n
///                      n ------> n         n ------> n
///
/// Moves     one message of n bytes to each rank except the root. The root sends ⌈log2 P⌉ of these messages.
/// Source    Thakur, Rabenseifner and Gropp, IJHPCA 2005.
struct tree_broadcast {
  elements data{};
  int root = 0;
  enum class state : std::uint8_t { begins, receives, sends } phase = state::begins;

  bool advance(operation_messages& m);
};

}  // namespace cohort::detail
