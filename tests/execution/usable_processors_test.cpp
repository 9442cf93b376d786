// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sched.h>
#include <cohort/execution/usable_processors.hpp>

namespace usable_processors_test {

TEST(usable_processors, are_counted_from_the_threads_affinity_mask) {
  EXPECT_GE(cohort::usable_processors(), 1);
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(cohort::usable_processors(), 1);
  sched_setaffinity(0, sizeof before, &before);
  EXPECT_EQ(cohort::usable_processors(), CPU_COUNT(&before));
}

}  // namespace usable_processors_test
