// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/optimizer/optimizer.hpp>

namespace optimizer_test {

using cohort::optimizer_settings;
using cohort::parameter_role;
using cohort::penalties;

constexpr optimizer_settings written{.rule = cohort::adagrad{.learning_rate = 0.02}, .l2 = 5e-4};
constexpr cohort::parameter_rule of_weights = written.rule_of("conv2d_1", parameter_role::weights),
                                 of_biases = written.rule_of("conv2d_1", parameter_role::biases);
static_assert(of_biases.rule == of_weights.rule);
static_assert(of_weights.penalty == penalties{.l1 = 0, .l2 = 5e-4} && of_biases.penalty == penalties{});
static_assert(!of_weights.frozen && of_weights.constraint == cohort::parameter_constraint());

TEST(optimizer_settings, use_separate_rules_for_weights_and_biases) {
  optimizer_settings const apart{
      .rule = cohort::adam{}, .bias_rule = cohort::sgd{.learning_rate = 0.5}, .bias_l1 = 0.25};
  EXPECT_EQ(apart.rule_of("a", parameter_role::weights).rule, cohort::optimizer_rule(cohort::adam{}));
  EXPECT_EQ(apart.rule_of("a", parameter_role::biases).rule,
            cohort::optimizer_rule(cohort::sgd{.learning_rate = 0.5}));
  EXPECT_EQ(apart.rule_of("a", parameter_role::biases).penalty.l1, 0.25);
  EXPECT_EQ(apart.rule_of("a", parameter_role::weights).penalty, penalties{});
}

TEST(optimizer_settings, apply_the_last_matching_row_that_sets_a_field) {
  using namespace cohort;
  optimizer_settings settings{.rule = adam{},
                              .l2 = 0.5,
                              .constraint = constraint::max_norm{3},
                              .layers = {{.layer = "*", .l1 = 0.25, .frozen = true},
                                         {.layer = "head", .rule = sgd{}, .frozen = false},
                                         {.layer = "he*", .l2 = 0, .constraint = parameter_constraint()}}};
  auto const weights = [&](char const* layer) { return settings.rule_of(layer, parameter_role::weights); };
  auto const biases = [&](char const* layer) { return settings.rule_of(layer, parameter_role::biases); };
  EXPECT_EQ(weights("body"), (parameter_rule{adam{}, {0.25, 0.5}, constraint::max_norm{3}, true}));
  EXPECT_EQ(weights("head"), (parameter_rule{sgd{}, {0.25, 0}, {}, false}));
  EXPECT_EQ(weights("heads"), (parameter_rule{adam{}, {0.25, 0}, {}, true}));
  EXPECT_EQ(biases("head"), (parameter_rule{sgd{}, {}, {}, false})) << "biases as their layer's weights";
  settings.bias_rule = momentum{};
  EXPECT_EQ(biases("head").rule, optimizer_rule(momentum{})) << "but for a bias_rule of the network";
  settings.layers.push_back({.layer = "head", .bias_rule = lion{}});
  EXPECT_EQ(biases("head").rule, optimizer_rule(lion{}));
  EXPECT_EQ(biases("body").rule, optimizer_rule(momentum{}));
}

TEST(optimizer_settings, exclude_parameters_from_weight_decay_by_dimensions_and_layer) {
  using namespace cohort;
  optimizer_settings const settings{
      .rule = adamw{.decay = 0.1},
      .bias_rule = lion{.decay = 0.2},
      .decay_from_rank = 2,
      .layers = {{.layer = "tokens", .decays = false}, {.layer = "gain", .decays = true}}};
  auto const rule = [&](char const* layer, parameter_role role, int rank) {
    return settings.rule_of(layer, role, rank).rule;
  };
  EXPECT_EQ(rule("head", parameter_role::weights, 2), optimizer_rule(adamw{.decay = 0.1}));
  EXPECT_EQ(rule("head", parameter_role::weights, 1), optimizer_rule(adamw{.decay = 0}));
  EXPECT_EQ(rule("head", parameter_role::biases, 1), optimizer_rule(lion{.decay = 0}));
  EXPECT_EQ(rule("tokens", parameter_role::weights, 2), optimizer_rule(adamw{.decay = 0}));
  EXPECT_EQ(rule("gain", parameter_role::biases, 1), optimizer_rule(lion{.decay = 0.2}));
  EXPECT_EQ(optimizer_rule(sgd{}).without_decay(), optimizer_rule(sgd{}));
  EXPECT_EQ(optimizer_rule(lars{}).without_decay(), optimizer_rule(lars{.decay = 0}));
  EXPECT_EQ(optimizer_rule(lamb{}).without_decay(), optimizer_rule(lamb{.decay = 0}));
}

TEST(optimizer_settings, refuse_invalid_values_of_each_field) {
  for (int const rank : {-1, 9}) {
    try {
      optimizer_settings{.decay_from_rank = rank}.check();
      FAIL() << "accepted";
    } catch (cohort::setting_error const& e) {
      EXPECT_EQ(std::string(e.what()),
                "the setting is out of range (decay_from_rank): expected 0 to 8; 2 "
                "excludes biases and normalisation layers, got "
                    + std::to_string(rank));
    }
  }
  EXPECT_NO_THROW(written.check());
  EXPECT_THROW((optimizer_settings{.rule = cohort::adam{.epsilon = 0}}).check(), cohort::setting_error);
  EXPECT_THROW((optimizer_settings{.bias_rule = cohort::sgd{.learning_rate = -1}}).check(),
               cohort::setting_error);
  EXPECT_THROW((optimizer_settings{.l1 = -1}).check(), cohort::setting_error);
  EXPECT_THROW((optimizer_settings{.l2 = __builtin_inf()}).check(), cohort::setting_error);
  try {
    optimizer_settings{.bias_l2 = -0.5}.check();
    FAIL() << "accepted";
  } catch (cohort::setting_error const& e) {
    EXPECT_EQ(e.why().where, "biases.l2");
    EXPECT_EQ(e.why().got, "-0.5");
  }
  EXPECT_THROW((optimizer_settings{.constraint = cohort::constraint::max_norm{0}}).check(),
               cohort::setting_error);
  try {
    optimizer_settings{.layers = {{.layer = "a"}, {.layer = "b", .l1 = -1}}}.check();
    FAIL() << "accepted";
  } catch (cohort::setting_error const& e) {
    EXPECT_EQ(e.why().where, "layers[1] b: weights.l1");
  }
}

}  // namespace optimizer_test
