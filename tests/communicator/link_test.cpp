// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/communicator/launch.hpp>
#include <cohort/communicator/link.hpp>

namespace link_test {

using namespace cohort;

static_assert(link_cost{.latency = 2, .bytes_per_second = 4}.seconds(3, 8) == 8);
static_assert(link_cost{}.seconds(3, 0) == 0);

TEST(link, has_the_same_measured_cost_on_all_ranks) {
  for (int ranks : {2, 3})
    launch<threads>(ranks, [](communicator& world) {
      traffic const before = world.sent();
      link_cost const found = measure_link(world);
      EXPECT_GE(world.sent().bytes_sent - before.bytes_sent, 9U * (8 + (256 << 10)));
      EXPECT_GT(found.latency, 0);
      EXPECT_GT(found.bytes_per_second, 0);
      double most[]{found.latency, -found.latency, found.bytes_per_second, -found.bytes_per_second};
      world.allreduce(std::span<double>(most), reduction::maximum);
      EXPECT_EQ(most[0], -most[1]);
      EXPECT_EQ(most[2], -most[3]);
    });
}

TEST(link, of_a_single_rank_has_no_cost) {
  launch<self>([](communicator& world) { EXPECT_EQ(measure_link(world).seconds(5, 0), 0); });
}

}  // namespace link_test
