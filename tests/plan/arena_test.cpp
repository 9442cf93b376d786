// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/plan/detail/arena.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/tensor/buffer.hpp>

#include <vector>

namespace arena_test {

using namespace cohort;
using namespace cohort::detail;

arena_slot slot(std::size_t bytes, int first, int last, int same_as = -1) {
  return {bytes, first, last, same_as, 0};
}

TEST(arena, reuses_memory_that_is_free) {
  std::vector<arena_slot> slots{slot(1000, 0, 1), slot(1000, 1, 2), slot(1000, 2, 3)};
  EXPECT_EQ(assign_offsets(slots), 2 * round_to_alignment(1000));
  EXPECT_EQ(slots[0].offset, slots[2].offset);
  EXPECT_NE(slots[0].offset, slots[1].offset);
}

TEST(arena, allocates_nothing_for_unused_slots) {
  std::vector<arena_slot> slots{slot(1000, -1, -1), slot(10, 0, 0)};
  EXPECT_EQ(assign_offsets(slots), 64U);
  std::vector<arena_slot> none;
  EXPECT_EQ(assign_offsets(none), 0U);
}

TEST(arena, keeps_shared_memory_until_its_last_use) {
  std::vector<arena_slot> slots{slot(100, 0, 1), slot(200, 1, 5, 0), slot(150, 4, 6)};
  assign_offsets(slots);
  EXPECT_EQ(slots[0].offset, slots[1].offset);
  bool const apart = slots[2].offset + 150 <= slots[0].offset || slots[0].offset + 200 <= slots[2].offset;
  EXPECT_TRUE(apart) << "the larger size and the longer life of the two count";
}

TEST(arena, never_overlaps_slots_with_overlapping_lifetimes) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    random_stream const numbers(seed, "arena");
    std::uint64_t drawn = 0;
    auto const draw = [&](int bound) {
      return static_cast<int>(numbers.below(drawn++, static_cast<std::uint64_t>(bound)));
    };
    std::vector<arena_slot> slots;
    for (int i = 0, count = 2 + draw(40); i < count; ++i) {
      int const first = draw(30);
      slots.push_back(slot(static_cast<std::size_t>(draw(5000)), first, first + draw(12)));
      int const root = i > 0 ? draw(i) : 0;
      if (i > 0 && draw(5) == 0 && slots[static_cast<std::size_t>(root)].same_as < 0)
        slots.back().same_as = root;
    }
    std::vector<arena_slot> const wanted = slots;
    std::size_t const total = assign_offsets(slots);
    std::size_t sum = 0;
    auto const root_of = [&](std::size_t i) {
      return wanted[i].same_as < 0 ? i : static_cast<std::size_t>(wanted[i].same_as);
    };
    for (std::size_t a = 0; a < slots.size(); ++a) {
      EXPECT_EQ(slots[a].offset % buffer::alignment, 0U);
      EXPECT_LE(slots[a].offset + wanted[a].bytes, total);
      sum += round_to_alignment(wanted[a].bytes);
      for (std::size_t b = 0; b < a; ++b) {
        if (root_of(a) == root_of(b)) {
          EXPECT_EQ(slots[a].offset, slots[b].offset);
        } else if (wanted[a].first <= wanted[b].last && wanted[b].first <= wanted[a].last) {
          EXPECT_TRUE(slots[a].offset + wanted[a].bytes <= slots[b].offset
                      || slots[b].offset + wanted[b].bytes <= slots[a].offset)
              << a << " and " << b;
        }
      }
    }
    EXPECT_LE(total, sum);
  }
}

}  // namespace arena_test
