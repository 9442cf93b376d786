// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/optimizer/optimizer.hpp>

namespace optimizer_test {

using cohort::optimizer_settings;
using cohort::parameter_role;
using cohort::penalties;

constexpr optimizer_settings written{.updater = cohort::adagrad{.rate = 0.02}, .l2 = 5e-4};
constexpr cohort::parameter_rule of_weights = written.rule_of("conv2d_1", parameter_role::weights),
                                 of_biases = written.rule_of("conv2d_1", parameter_role::biases);
static_assert(of_biases.updater == of_weights.updater);
static_assert(of_weights.penalty == penalties{.l1 = 0, .l2 = 5e-4} && of_biases.penalty == penalties{});
static_assert(!of_weights.frozen && of_weights.constraint == cohort::parameter_constraint());

TEST(optimizer_settings, distinguish_weights_and_biases) {
  optimizer_settings const apart{
      .updater = cohort::adam{}, .bias_updater = cohort::sgd{.rate = 0.5}, .bias_l1 = 0.25};
  EXPECT_EQ(apart.rule_of("a", parameter_role::weights).updater, cohort::updater(cohort::adam{}));
  EXPECT_EQ(apart.rule_of("a", parameter_role::biases).updater, cohort::updater(cohort::sgd{.rate = 0.5}));
  EXPECT_EQ(apart.rule_of("a", parameter_role::biases).penalty.l1, 0.25);
  EXPECT_EQ(apart.rule_of("a", parameter_role::weights).penalty, penalties{});
}

TEST(optimizer_settings, use_each_field_of_the_last_row_that_sets_it) {
  using namespace cohort;
  optimizer_settings settings{.updater = adam{},
                              .l2 = 0.5,
                              .constraint = constraint::max_norm{3},
                              .layers = {{.layer = "*", .l1 = 0.25, .frozen = true},
                                         {.layer = "head", .updater = sgd{}, .frozen = false},
                                         {.layer = "he*", .l2 = 0, .constraint = parameter_constraint()}}};
  auto const weights = [&](char const* layer) { return settings.rule_of(layer, parameter_role::weights); };
  auto const biases = [&](char const* layer) { return settings.rule_of(layer, parameter_role::biases); };
  EXPECT_EQ(weights("body"), (parameter_rule{adam{}, {0.25, 0.5}, constraint::max_norm{3}, true}));
  EXPECT_EQ(weights("head"), (parameter_rule{sgd{}, {0.25, 0}, {}, false}));
  EXPECT_EQ(weights("heads"), (parameter_rule{adam{}, {0.25, 0}, {}, true}));
  EXPECT_EQ(biases("head"), (parameter_rule{sgd{}, {}, {}, false})) << "biases as their layer's weights";
  settings.bias_updater = momentum{};
  EXPECT_EQ(biases("head").updater, updater(momentum{})) << "but for a bias_updater of the network";
  settings.layers.push_back({.layer = "head", .bias_updater = lion{}});
  EXPECT_EQ(biases("head").updater, updater(lion{}));
  EXPECT_EQ(biases("body").updater, updater(momentum{}));
}

TEST(optimizer_settings, exclude_ranks_and_layers_from_weight_decay) {
  using namespace cohort;
  optimizer_settings const settings{
      .updater = adamw{.decay = 0.1},
      .bias_updater = lion{.decay = 0.2},
      .decay_from_rank = 2,
      .layers = {{.layer = "tokens", .decays = false}, {.layer = "gain", .decays = true}}};
  auto const rule = [&](char const* layer, parameter_role role, int rank) {
    return settings.rule_of(layer, role, rank).updater;
  };
  EXPECT_EQ(rule("head", parameter_role::weights, 2), updater(adamw{.decay = 0.1}));
  EXPECT_EQ(rule("head", parameter_role::weights, 1), updater(adamw{.decay = 0}));
  EXPECT_EQ(rule("head", parameter_role::biases, 1), updater(lion{.decay = 0}));
  EXPECT_EQ(rule("tokens", parameter_role::weights, 2), updater(adamw{.decay = 0}));
  EXPECT_EQ(rule("gain", parameter_role::biases, 1), updater(lion{.decay = 0.2}));
  EXPECT_EQ(updater(sgd{}).without_decay(), updater(sgd{}));
  EXPECT_EQ(updater(lars{}).without_decay(), updater(lars{.decay = 0}));
  EXPECT_EQ(updater(lamb{}).without_decay(), updater(lamb{.decay = 0}));
}

TEST(optimizer_settings, check_all_their_fields) {
  for (int const rank : {-1, 9}) {
    try {
      optimizer_settings{.decay_from_rank = rank}.check();
      FAIL() << "accepted";
    } catch (cohort::setting_error const& e) {
      EXPECT_EQ(std::string(e.what()),
                "the setting is out of range (decay_from_rank): expected 0 to 8; 2 "
                "excludes biases and norms, got "
                    + std::to_string(rank));
    }
  }
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
