// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/communicator/detail/poll_rhythm.hpp>

namespace poll_rhythm_test {

using cohort::detail::poll_rhythm;

int nap_after(poll_rhythm& looks, int quiet, bool awaited) {
  for (int i = 0; i < quiet; ++i) looks.after_poll(false, awaited);
  return static_cast<int>(looks.nap(awaited).count());
}

TEST(poll_rhythm, polls_without_pauses_at_first) {
  poll_rhythm looks;
  EXPECT_EQ(nap_after(looks, 50, false), 0);
  EXPECT_EQ(nap_after(looks, 1, false), 6);
}

TEST(poll_rhythm, sleeps_longer_without_waiters_and_shorter_after_a_message) {
  poll_rhythm looks;
  EXPECT_EQ(nap_after(looks, 1000, false), 345);
  looks.after_poll(true, false);
  EXPECT_EQ(nap_after(looks, 0, false), 68);
  EXPECT_EQ(nap_after(looks, 4, false), 345) << "4 looks later as long as before";
  for (int i = 0; i < 13; ++i) looks.after_poll(true, false);
  EXPECT_EQ(nap_after(looks, 0, false), 0) << "many messages";
}

TEST(poll_rhythm, sleeps_at_most_50_us_while_a_thread_waits) {
  poll_rhythm looks;
  EXPECT_EQ(nap_after(looks, 51, true), 1);
  EXPECT_EQ(nap_after(looks, 1000, true), 50);
  EXPECT_EQ(looks.nap(false).count(), 345) << "who waited has gone";
  looks.after_poll(true, true);
  EXPECT_EQ(nap_after(looks, 50, true), 0);
}

TEST(poll_rhythm, resets_when_nothing_is_pending) {
  poll_rhythm looks;
  nap_after(looks, 1000, false);
  looks.idle();
  EXPECT_EQ(nap_after(looks, 50, false), 0);
}

}  // namespace poll_rhythm_test
