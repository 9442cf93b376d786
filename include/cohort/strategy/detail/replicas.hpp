// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/plan/replica.hpp>
#include <cstddef>
#include <cstdint>

namespace cohort::detail {

/// Returns whether all ranks pass the same number.  Order: collective.
bool is_same_on_all_ranks(communicator& world, std::uint64_t number);

/// Returns whether the padding in a range of `room` elements is at most 1/64 of the other `elements`.
/// Reducing such a range in place is faster than packing it first.
constexpr bool is_nearly_packed(std::size_t elements, std::size_t room) {
  return room <= elements + elements / 64;
}

/// Broadcasts rank 0's parameters and optimizers' state, except sharded state.  Order: collective.
void broadcast_replica(communicator& world, replica const& own);

}  // namespace cohort::detail
