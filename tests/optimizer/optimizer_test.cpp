// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/optimizer/optimizer.hpp>

namespace {

using cohort::optimizer_settings;
using cohort::parameter_role;
using cohort::penalties;

constexpr optimizer_settings written{.updater = cohort::adagrad{.rate = 0.02}, .l2 = 5e-4};
static_assert(written.updater_of(parameter_role::biases) == written.updater_of(parameter_role::weights));
static_assert(written.penalties_of(parameter_role::weights) == penalties{.l1 = 0, .l2 = 5e-4});
static_assert(written.penalties_of(parameter_role::biases) == penalties{});

TEST(optimizer_settings, tell_weights_and_biases_apart) {
  optimizer_settings const apart{
      .updater = cohort::adam{}, .bias_updater = cohort::sgd{.rate = 0.5}, .bias_l1 = 0.25};
  EXPECT_EQ(apart.updater_of(parameter_role::weights), cohort::updater(cohort::adam{}));
  EXPECT_EQ(apart.updater_of(parameter_role::biases), cohort::updater(cohort::sgd{.rate = 0.5}));
  EXPECT_EQ(apart.penalties_of(parameter_role::biases).l1, 0.25);
  EXPECT_EQ(apart.penalties_of(parameter_role::weights), penalties{});
}

TEST(optimizer_settings, check_all_of_their_parts) {
  EXPECT_NO_THROW(written.check());
  EXPECT_THROW((optimizer_settings{.updater = cohort::adam{.epsilon = 0}}).check(), cohort::setting_error);
  EXPECT_THROW((optimizer_settings{.bias_updater = cohort::sgd{.rate = -1}}).check(), cohort::setting_error);
  EXPECT_THROW((optimizer_settings{.l1 = -1}).check(), cohort::setting_error);
  EXPECT_THROW((optimizer_settings{.l2 = __builtin_inf()}).check(), cohort::setting_error);
  try {
    optimizer_settings{.bias_l2 = -0.5}.check();
    FAIL() << "accepted";
  } catch (cohort::setting_error const& e) {
    EXPECT_EQ(e.why().where, "biases.l2");
    EXPECT_EQ(e.why().got, "-0.5");
  }
}

}  // namespace
