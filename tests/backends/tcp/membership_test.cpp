// SPDX-License-Identifier: Apache-2.0
#include "simulated_membership.hpp"

using namespace simulated_membership;

TEST(membership_of_an_elastic_job, never_divides_and_goes_on_after_random_faults) {
  totals const all = run_seeds({1, 5'000});
  EXPECT_GT(all.steps, 500'000);
  EXPECT_GT(all.memberships, 10'000);
}

TEST(membership_of_an_elastic_job, does_not_change_because_of_lost_packets) {
  for (double const loss : {0.01, 0.05}) {
    totals const all = run_seeds({1, 200}, lossy(loss));
    EXPECT_GT(all.longest_delay, std::chrono::milliseconds(600)) << loss;
    EXPECT_EQ(all.changes, 0) << loss;
  }
}
