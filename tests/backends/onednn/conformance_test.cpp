// SPDX-License-Identifier: Apache-2.0
// suites: onednn
// label: slow
#include <cohort/onednn.hpp>

#include "../../backend/ladder.hpp"

namespace conformance_test {

bool const registered = ladder::register_ladder<cohort::onednn>("onednn");

TEST(conformance_tests, are_all_registered) { EXPECT_TRUE(registered); }

}  // namespace conformance_test
