// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/plan/detail/arena.hpp>
#include <cohort/tensor/buffer.hpp>
#include <vector>

namespace cohort::detail {

void arena_slot::used(int command) {
  if (first < 0) first = command;
  last = command;
}

std::size_t assign_offsets(std::span<arena_slot> slots) {
  for (arena_slot& slot : slots) {
    if (slot.same_as < 0) continue;
    arena_slot& root = slots[static_cast<std::size_t>(slot.same_as)];
    if (slot.first < 0) continue;
    root.first = root.first < 0 ? slot.first : std::min(root.first, slot.first);
    root.last = std::max(root.last, slot.last);
    root.bytes = std::max(root.bytes, slot.bytes);
  }
  std::vector<arena_slot*> placed;
  std::vector<char> done(slots.size(), 0);
  auto const largest_unplaced = [&] {
    arena_slot* found = nullptr;
    for (arena_slot& slot : slots)
      if (slot.same_as < 0 && slot.first >= 0 && (!found || slot.bytes > found->bytes)
          && !done[static_cast<std::size_t>(&slot - slots.data())])
        found = &slot;
    return found;
  };
  auto const conflicting_slot = [&](arena_slot const& slot) -> arena_slot const* {
    for (arena_slot const* other : placed)
      if (other->first <= slot.last && slot.first <= other->last && other->offset < slot.offset + slot.bytes
          && slot.offset < other->offset + round_to_alignment(other->bytes))
        return other;
    return nullptr;
  };
  std::size_t total = 0;
  while (arena_slot* const slot = largest_unplaced()) {
    slot->offset = 0;
    while (arena_slot const* const other = conflicting_slot(*slot))
      slot->offset = other->offset + round_to_alignment(other->bytes);
    total = std::max(total, slot->offset + round_to_alignment(slot->bytes));
    placed.push_back(slot);
    done[static_cast<std::size_t>(slot - slots.data())] = 1;
  }
  for (arena_slot& slot : slots)
    if (slot.same_as >= 0) slot.offset = slots[static_cast<std::size_t>(slot.same_as)].offset;
  return total;
}

}  // namespace cohort::detail
