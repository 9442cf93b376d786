// SPDX-License-Identifier: Apache-2.0
// covers: optimizer/named_number optimizer/optimizers
#include <gtest/gtest.h>

#include <cohort/optimizer/optimizer_rule.hpp>
#include <string>
#include <vector>

namespace optimizer_rule_test {

using cohort::adagrad;
using cohort::adam;
using cohort::momentum;
using cohort::named_number;
using cohort::nesterov;
using cohort::optimizer_rule;
using cohort::sgd;

constexpr optimizer_rule slow = adagrad{.learning_rate = 0.02};
static_assert(slow == optimizer_rule(adagrad{.learning_rate = 0.02, .epsilon = 1e-6, .initial = 1e-6}));
static_assert(slow != optimizer_rule(adagrad{}) && slow != optimizer_rule(sgd{.learning_rate = 0.02}));
static_assert(optimizer_rule() == optimizer_rule(sgd{.learning_rate = 0.1}));
static_assert(optimizer_rule(momentum{}) != optimizer_rule(nesterov{}));
static_assert(slow.state_arrays() == 1 && slow.state_name(0) == "squares" && slow.initial_state(0) == 1e-6);
static_assert(optimizer_rule(adagrad{.initial = 0.5}).initial_state(0) == 0.5);
static_assert(optimizer_rule(sgd{}).state_arrays() == 0 && optimizer_rule(momentum{}).state_arrays() == 1);
static_assert(optimizer_rule(cohort::amsgrad{}).state_arrays() == 3);
static_assert(optimizer_rule(adam{}).state_arrays() == 2 && optimizer_rule(adam{}).initial_state(1) == 0);
static_assert(sizeof(optimizer_rule) <= 360);

struct row {
  std::string name;
  double rate;
  std::vector<double> numbers;  // momentum or fields
};

TEST(optimizer_rule, has_the_defaults_of_the_literature) {
  std::vector<row> const expected{{"sgd", 0.1, {}},
                                  {"momentum", 0.1, {0.9}},
                                  {"nesterov", 0.1, {0.9}},
                                  {"adam", 1e-3, {0.9, 0.999, 1e-8, 0}},
                                  {"adamw", 1e-3, {0.9, 0.999, 1e-8, 1e-2, 0}},
                                  {"amsgrad", 1e-3, {0.9, 0.999, 1e-8, 0}},
                                  {"adamax", 1e-3, {0.9, 0.999, 1e-8}},
                                  {"nadam", 1e-3, {0.9, 0.999, 1e-8}},
                                  {"adabelief", 1e-3, {0.9, 0.999, 1e-14}},
                                  {"adagrad", 0.1, {1e-6, 1e-6}},
                                  {"adadelta", 1, {0.95, 1e-6}},
                                  {"rmsprop", 1e-3, {0.95, 1e-8}},
                                  {"lion", 1e-4, {0.9, 0.99, 0}},
                                  {"lamb", 1e-3, {0.9, 0.999, 1e-6, 1e-2}},
                                  {"lars", 0.1, {0.9, 5e-4, 1e-3}},
                                  {"no_op", 1, {}}};
  ASSERT_EQ(expected.size(), cohort::detail::default_rules.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    optimizer_rule const& one = cohort::detail::default_rules[k];
    EXPECT_EQ(one.name(), expected[k].name);
    EXPECT_EQ(one.learning_rate(), cohort::rate_schedule(expected[k].rate)) << one.name();
    std::vector<double> numbers;
    for (named_number const& field : one.fields()) numbers.push_back(field.value);
    EXPECT_EQ(numbers, expected[k].numbers) << one.name();
    EXPECT_NO_THROW(one.check()) << one.name();
  }
}

TEST(optimizer_rule, is_restored_from_its_name_and_fields) {
  for (optimizer_rule const& each : cohort::detail::default_rules) {
    std::vector<named_number> changed;
    for (named_number const& field : each.fields()) changed.push_back({field.name, field.value / 2});
    optimizer_rule const other =
        optimizer_rule::from(each.name(), cohort::schedule::cosine{.length = 7}, changed);
    EXPECT_NE(other, each);
    auto const fields = other.fields();
    EXPECT_EQ(fields.size(), changed.size());
    EXPECT_EQ(optimizer_rule::from(other.name(), other.learning_rate(), {fields.begin(), fields.end()}),
              other);
    EXPECT_EQ(optimizer_rule::from(each.name(), each.learning_rate(), {}), each);
  }
}

TEST(optimizer_rule, accepts_a_schedule_for_its_momentum) {
  cohort::rate_schedule const falling = cohort::schedule::step{.initial = 0.9, .factor = 0.5};
  optimizer_rule const rule = nesterov{.momentum = falling};
  EXPECT_EQ(rule.momentum(), falling);
  EXPECT_EQ(rule.fields().size(), 0U);
  EXPECT_EQ(optimizer_rule::from("nesterov", 0.1, {}).with_momentum(falling), rule);
  EXPECT_NO_THROW(rule.check());
  EXPECT_THROW(optimizer_rule(adam{}).with_momentum(falling), cohort::setting_error);
  try {
    optimizer_rule(momentum{.momentum = cohort::schedule::one_cycle{0.85, 1.5, 0.85, 10}}).check();
    FAIL() << "accepted";
  } catch (cohort::setting_error const& e) {
    EXPECT_EQ(e.why().where, "momentum.peak");
  }
}

TEST(optimizer_rule, names_its_fields_in_order) {
  auto const fields = optimizer_rule(adam{}).fields();
  ASSERT_EQ(fields.size(), 4U);
  EXPECT_EQ(fields.items[0], (named_number{"beta1", 0.9}));
  EXPECT_EQ(fields.items[2], (named_number{"epsilon", 1e-8}));
  EXPECT_EQ(optimizer_rule(cohort::adamw{.decay = 0.25, .epsilon_hat = 0.5}).number("epsilon_hat"), 0.5);
  EXPECT_EQ(optimizer_rule(sgd{}).number("epsilon_hat"), 0);
}

TEST(optimizer_rule, refuses_unknown_names_and_fields) {
  EXPECT_THROW(optimizer_rule::from("adamant", 0.1, {}), cohort::setting_error);
  named_number const wrong[] = {{"rho", 0.5}};
  EXPECT_THROW(optimizer_rule::from("adam", 0.1, wrong), cohort::setting_error);
  named_number const nameless[] = {{"", 0.5}};
  EXPECT_THROW(optimizer_rule::from("sgd", 0.1, nameless), cohort::setting_error);
}

TEST(optimizer_rule, refuses_an_epsilon_of_zero_and_names_the_field) {
  int with_epsilon = 0;
  for (optimizer_rule const& each : cohort::detail::default_rules)
    for (named_number const& field : each.fields()) {
      if (field.name != "epsilon") continue;
      ++with_epsilon;
      for (double const bad : {0.0, -1e-6, 1e-46, __builtin_nan("")}) {  // 1e-46: 0 in float
        named_number const changed[] = {{"epsilon", bad}};
        try {
          optimizer_rule::from(each.name(), each.learning_rate(), changed).check();
          FAIL() << each.name() << " accepted " << bad;
        } catch (cohort::setting_error const& e) {
          EXPECT_EQ(e.why().where, std::string(each.name()) + ".epsilon");
        }
      }
    }
  EXPECT_EQ(with_epsilon, 10);
}

TEST(optimizer_rule, refuses_invalid_values_of_each_field) {
  for (optimizer_rule const& good :
       std::vector<optimizer_rule>{momentum{.momentum = 0}, adagrad{.initial = 0}, cohort::adamw{.decay = 0},
                                   adam{.epsilon = 0, .epsilon_hat = 1e-7}})
    EXPECT_NO_THROW(good.check());
  for (optimizer_rule const& bad : std::vector<optimizer_rule>{
           sgd{.learning_rate = -1}, momentum{.momentum = 1}, nesterov{.momentum = -0.1},
           momentum{.momentum = __builtin_nan("")}, adagrad{.initial = -1}, adam{.beta1 = 1},
           adam{.beta2 = 1.5}, adam{.epsilon_hat = -1e-9}, adam{.epsilon = 0, .epsilon_hat = 1e-46},
           cohort::adamw{.decay = -1}, cohort::rmsprop{.rho = 1}, cohort::adadelta{.rho = -0.1},
           cohort::lion{.beta2 = 1}, cohort::lion{.decay = __builtin_inf()}, cohort::lars{.trust = 0},
           optimizer_rule::from("no_op", 0.5, {})})
    EXPECT_THROW(bad.check(), cohort::setting_error) << bad.name();
}

}  // namespace optimizer_rule_test
