// SPDX-License-Identifier: Apache-2.0
// label: slow long
// alone: runs for ten minutes
// Like membership_test.cpp, with more seeds.
#include <iostream>
#include "simulated_membership.hpp"

using namespace simulated_membership;

void print(totals const& all) {
  std::cout << all.schedules << " schedules, " << all.steps << " steps, " << all.memberships
            << " memberships, " << all.changes << " changes, longest delay " << all.longest_delay.count()
            << " ms" << std::endl;
}

TEST(membership_of_many_seeds, never_divides_and_goes_on_after_random_faults) {
  print(run_seeds(given_seeds({1, 1'000'000})));
}

TEST(membership_of_many_seeds, does_not_change_because_of_one_percent_of_lost_packets) {
  totals const all = run_seeds(given_seeds({1, 10'000}), lossy(0.01));
  print(all);
  EXPECT_EQ(all.changes, 0);
}

TEST(membership_of_many_seeds, goes_on_with_five_percent_of_lost_packets) {
  print(run_seeds(given_seeds({1, 10'000}), lossy(0.05)));
}
