// SPDX-License-Identifier: Apache-2.0
#include "golden_file.hpp"

#include <gtest/gtest.h>

#include <cohort/error/exceptions.hpp>
#include <cohort/optimizer/plateau.hpp>
#include <limits>

namespace plateau_test {

using cohort::plateau;
using cohort::reduce_on_plateau;

static_assert(plateau{}.after(1, {}) == plateau{.best = 1});

// Numbers made by tests/golden/schedules.py.
TEST(plateau, reduces_the_rate_like_pytorch) {
  auto cases = golden::read("schedules.txt");
  auto& one = cases.back();
  ASSERT_EQ(one.name, "reduce_on_plateau");
  reduce_on_plateau const how{.factor = one.take("factor"),
                              .patience = static_cast<int>(one.take("patience")),
                              .threshold = one.take("threshold"),
                              .cooldown = static_cast<int>(one.take("cooldown")),
                              .least = one.take("least")};
  EXPECT_TRUE(one.field_names.empty());
  ASSERT_EQ(one.rows.size(), 2U);
  plateau now;
  for (std::size_t k = 0; k < one.rows[0].numbers.size(); ++k) {
    now = now.after(one.rows[0].numbers[k], how);
    EXPECT_EQ(now.factor, one.rows[1].numbers[k]) << "observation " << k;
  }
}

TEST(plateau, does_not_treat_nan_as_an_improvement) {
  reduce_on_plateau const how{.factor = 0.5, .patience = 1};
  plateau now;
  for (int k = 0; k < 2; ++k) now = now.after(std::numeric_limits<double>::quiet_NaN(), how);
  EXPECT_EQ(now.factor, 0.5);
}

TEST(plateau, refuses_invalid_settings) {
  EXPECT_NO_THROW(reduce_on_plateau{}.check());
  for (reduce_on_plateau const& bad :
       {reduce_on_plateau{.factor = 1}, reduce_on_plateau{.factor = 0}, reduce_on_plateau{.patience = -1},
        reduce_on_plateau{.threshold = -1}, reduce_on_plateau{.cooldown = -1}, reduce_on_plateau{.least = 2}})
    EXPECT_THROW(bad.check(), cohort::setting_error);
}

}  // namespace plateau_test
