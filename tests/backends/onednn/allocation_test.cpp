// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/onednn.hpp>

#include "../../plan/allocation_cases.hpp"

namespace allocation_test {

using namespace cohort;

// Executing a primitive allocates its context.
TEST(allocation, does_not_happen_in_a_step) { expect_no_allocation_in_a_step<onednn>("dnnl"); }

}  // namespace allocation_test
