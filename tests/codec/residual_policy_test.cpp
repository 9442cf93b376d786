// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/codec/residual_policy.hpp>
#include <cohort/error/exceptions.hpp>

#include "../data/refused.hpp"

namespace residual_policy_test {

using cohort::residual_policy;
namespace residual = cohort::residual;

TEST(residual_policy, acts_after_every_nth_message) {
  residual_policy const clip = residual::clip{};
  int turns = 0;
  for (std::uint64_t step = 0; step < 20; ++step) turns += clip.acts_after(step);
  EXPECT_EQ(turns, 4);
  EXPECT_FALSE(clip.acts_after(3));
  EXPECT_TRUE(clip.acts_after(4));
  EXPECT_FALSE(residual_policy(residual::none{}).acts_after(4));
}

TEST(residual_policy, refuses_invalid_settings) {
  auto const refusal = [](residual_policy policy) {
    return refused<cohort::setting_error>([&] { policy.check(); });
  };
  expect_parts(refusal(residual::clip{.at = 0.5}), {"clip.at"});
  expect_parts(refusal(residual::clip{.every = 0}), {"clip.every"});
  expect_parts(refusal(residual::decay{.factor = 1}), {"decay.factor"});
  EXPECT_NO_THROW(residual_policy(residual::clip{}).check());
  EXPECT_NO_THROW(residual_policy(residual::decay{}).check());
  EXPECT_NO_THROW(residual_policy().check());
}

}  // namespace residual_policy_test
