// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <chrono>
#include <cohort/communicator/detail/time_source.hpp>
#include <cohort/communicator/detail/virtual_time.hpp>
#include <string>

namespace virtual_time_test {

using namespace cohort::detail;
using namespace std::chrono_literals;

TEST(virtual_time, returns_events_in_the_order_of_their_times_and_of_their_creation) {
  virtual_time<double, std::string> time;
  time.add(2, "c");
  time.add(1, "a");
  time.add(2, "d");
  time.add(1, "b");
  std::string all;
  while (time.has_events()) {
    EXPECT_GE(time.next_time(), time.now());
    all += time.next();
    if (all == "a") time.add(1.5, "(new)");
  }
  EXPECT_EQ(all, "ab(new)cd");
  EXPECT_EQ(time.now(), 2);
}

TEST(virtual_time, never_decreases) {
  virtual_time<std::chrono::steady_clock::time_point, int> time;
  time.add(time.now() + 5s, 1);
  EXPECT_EQ(time.next(), 1);
  auto const now = time.now();
  time.add(now - 3s, 2);
  EXPECT_EQ(time.next(), 2);
  EXPECT_EQ(time.now(), now);
}

TEST(time_source, of_the_system_advances) {
  time_source& time = system_time();
  auto const begin = time.now();
  time.let_pass(2ms);
  EXPECT_GE(time.now() - begin, 2ms);
  EXPECT_FALSE(time.is_virtual());
}

}  // namespace virtual_time_test
