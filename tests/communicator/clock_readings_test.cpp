// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/communicator/detail/clock_readings.hpp>
#include <cohort/communicator/launch.hpp>
#include <cstdlib>

namespace clock_readings_test {

using namespace cohort;
using detail::clock_reading;

TEST(clock_readings, are_within_their_error_for_the_same_clock) {
  launch<threads>(3, [](communicator& world) {
    auto const all = detail::read_clocks(world);
    ASSERT_EQ(all.size(), world.rank() == 0 ? 3U : 0U);
    if (world.rank() > 0) return;
    EXPECT_EQ(all[0].error, 0);
    for (int rank : {1, 2}) {
      clock_reading const& one = all[static_cast<std::size_t>(rank)];
      EXPECT_LE(std::abs(one.here - one.there), one.error + 1);  // halves are rounded down
      EXPECT_LT(one.error, 10'000'000'000);
    }
  });
}

TEST(clock_readings, convert_times_to_rank_0_for_any_offset_and_rate) {
  clock_reading const first{.here = 1000, .there = 500'000}, later{.here = 2000, .there = 502'000};
  EXPECT_EQ(first.on_rank_0(500'000, later), 1000);
  EXPECT_EQ(first.on_rank_0(501'000, later), 1500);
  EXPECT_EQ(first.on_rank_0(502'000, later), 2000);
  EXPECT_EQ(first.on_rank_0(499'000, later), 500);
  EXPECT_EQ(first.on_rank_0(500'007, first), 1007);  // two equal readings: both clocks have one rate
  EXPECT_EQ(clock_reading{}.on_rank_0(42, {}), 42);  // rank 0's clock itself
}

}  // namespace clock_readings_test
