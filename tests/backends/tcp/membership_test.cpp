// SPDX-License-Identifier: Apache-2.0
#include "simulated_membership.hpp"

using simulated_membership::schedule;

TEST(membership_of_an_elastic_job, never_divides_and_goes_on_after_random_faults) {
  std::int64_t steps = 0, memberships = 0;
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    schedule one(seed);
    one.run();
    if (::testing::Test::HasFailure()) break;
    steps += one.steps();
    memberships += one.memberships();
  }
  EXPECT_GT(steps, 100'000);
  EXPECT_GT(memberships, 4'000);
}
