// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/execution/partition.hpp>

namespace partition_test {

using cohort::index_slice;
using cohort::part_of;

static_assert(part_of({10, 7}, 0, 3) == index_slice{10, 3});
static_assert(part_of({10, 7}, 1, 3) == index_slice{13, 2});
static_assert(part_of({10, 7}, 2, 3) == index_slice{15, 2});

TEST(partition, assigns_every_index_to_a_single_part) {
  for (int parts = 1; parts < 9; ++parts)
    for (int count = 0; count < 20; ++count) {
      std::int64_t next = 5;
      for (int which = 0; which < parts; ++which) {
        index_slice const part = part_of({5, count}, which, parts);
        EXPECT_EQ(part.first, next);
        EXPECT_GE(part.count, count / parts);
        EXPECT_LE(part.count, count / parts + 1);
        next += part.count;
      }
      EXPECT_EQ(next, 5 + count);
    }
}

}  // namespace partition_test
