// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/error/exceptions.hpp>
#include <cohort/optimizer/regularisation.hpp>

namespace regularisation_test {

TEST(penalties, are_zero_by_default_and_refused_if_negative) {
  EXPECT_EQ(cohort::penalties{}.l1, 0);
  EXPECT_EQ(cohort::penalties{}.l2, 0);
  EXPECT_NO_THROW((cohort::penalties{.l1 = 1, .l2 = 2}).check());
  EXPECT_THROW((cohort::penalties{.l1 = -1e-9}).check(), cohort::setting_error);
  EXPECT_THROW((cohort::penalties{.l2 = __builtin_nan("")}).check(), cohort::setting_error);
}

}  // namespace regularisation_test
