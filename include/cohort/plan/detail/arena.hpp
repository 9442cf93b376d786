// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <span>

namespace cohort::detail {

/// Block of memory in the arena of a plan, in use during a range of commands.
///
/// Order     used from command `first` to command `last`, both included; first < 0: never used.
/// `same_as`  index of the slot whose memory this slot shares (in-place), or −1.
struct arena_slot {
  std::size_t bytes = 0;
  int first = -1;
  int last = -1;
  int same_as = -1;
  std::size_t offset = 0;

  /// Extends the lifetime of the slot to this command.
  void used(int command);
};

/// Assigns every slot its offset, so that slots in use at the same time do not overlap. Returns the arena's
/// bytes.
///
/// Order     slots are placed greedily, the largest first, each at the lowest free offset.
/// Source    Pisarchyk and Lee, Efficient memory management for deep neural net inference, 2020.
std::size_t assign_offsets(std::span<arena_slot> slots);

}  // namespace cohort::detail
