// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/training/trainer.hpp>

#include <cohort/onednn.hpp>

#include <cmath>

#include "../../training/stateful_cases.hpp"

namespace recurrent_states_test {

using namespace cohort;
using namespace stateful_cases;

/// Outputs are of size 1. Products with another number of rows may sum in another order.
TEST(recurrent_states, continue_a_sequence_over_parts_with_only_rounding_errors) {
  EXPECT_LE(difference<onednn>(false), 1e-5);
  EXPECT_LE(difference<onednn>(true), 1e-5);
}

/// Elements are rounded to 8 bits; another order of summation may round some elements differently.
TEST(recurrent_states, continue_a_sequence_over_parts_with_only_rounding_errors_in_bf16) {
  if (!onednn_bf16::probe().usable) GTEST_SKIP() << onednn_bf16::probe().reason;
  EXPECT_LE(difference<onednn_bf16>(false), 0.05);
}

TEST(recurrent_states, crops_have_the_loss_of_the_whole_sequences) {
  double const whole = loss<onednn>(12, false);
  for (int const length : {1, 4, 6}) EXPECT_NEAR(loss<onednn>(length, true), whole, 1e-5) << length;
  EXPECT_GT(std::abs(loss<onednn>(4, false) - whole), 1e-3);
}

}  // namespace recurrent_states_test
