// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tensor/buffer.hpp>
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace cohort {

/// A piece of memory that a plan needs from one command to another.
///
/// Order     used from command `first` to command `last`, both included; first < 0: never used.
/// `same_as` another slot whose memory this one shares (in place), or −1.
struct arena_slot {
  std::size_t bytes = 0;
  int first = -1;
  int last = -1;
  int same_as = -1;
  std::size_t offset = 0;

  void used(int command) {
    if (first < 0) first = command;
    last = command;
  }
};

/// Gives every slot its offset, so that slots in use at the same time do not overlap; returns the arena's bytes.
///
/// Order     largest first, each at the lowest offset that is free: the greedy rule by size.
/// Source    Pisarchyk and Lee, Efficient memory management for deep neural net inference, 2020.
inline std::size_t arrange(std::span<arena_slot> slots) {
  for (arena_slot& slot : slots) {
    if (slot.same_as < 0) continue;
    arena_slot& root = slots[static_cast<std::size_t>(slot.same_as)];
    if (slot.first < 0) continue;
    root.first = root.first < 0 ? slot.first : std::min(root.first, slot.first);
    root.last = std::max(root.last, slot.last);
    root.bytes = std::max(root.bytes, slot.bytes);
  }
  std::vector<std::size_t> order(slots.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return slots[a].bytes > slots[b].bytes; });
  std::size_t total = 0;
  std::vector<std::size_t> placed;
  for (std::size_t id : order) {
    arena_slot& slot = slots[id];
    if (slot.same_as >= 0 || slot.first < 0) continue;
    std::vector<std::size_t> neighbours;
    for (std::size_t other : placed)
      if (slots[other].first <= slot.last && slot.first <= slots[other].last) neighbours.push_back(other);
    std::sort(neighbours.begin(), neighbours.end(),
              [&](std::size_t a, std::size_t b) { return slots[a].offset < slots[b].offset; });
    slot.offset = 0;
    for (std::size_t other : neighbours) {
      if (slot.offset + slot.bytes <= slots[other].offset) break;
      slot.offset = std::max(slot.offset, slots[other].offset + round_to_alignment(slots[other].bytes));
    }
    total = std::max(total, slot.offset + round_to_alignment(slot.bytes));
    placed.push_back(id);
  }
  for (arena_slot& slot : slots)
    if (slot.same_as >= 0) slot.offset = slots[static_cast<std::size_t>(slot.same_as)].offset;
  return total;
}

}  // namespace cohort
