// SPDX-License-Identifier: Apache-2.0
// suites: reference_float
#include "ladder.hpp"

namespace conformance_test {

bool const registered = ladder::register_ladder<cohort::reference<float>>("reference_float");

TEST(conformance_tests, are_all_registered) { EXPECT_TRUE(registered); }

}  // namespace conformance_test
