// SPDX-License-Identifier: Apache-2.0
// covers: optimizer/named_number optimizer/optimizers
#include <gtest/gtest.h>

#include <algorithm>
#include <cohort/io/json.hpp>
#include <cohort/optimizer/detail/optimizer_fields.hpp>
#include <cohort/optimizer/optimizer_rule.hpp>
#include <string>
#include <string_view>
#include <variant>
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
                                  {"momentum", 0.1, {0.9, 0}},
                                  {"nesterov", 0.1, {0.9, 0}},
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

optimizer_rule read(std::string const& json) {
  cohort::io::json_document const parsed = cohort::io::parse_json(json);
  optimizer_rule rule;
  cohort::detail::rule_codec().read(parsed.root(), rule);
  return rule;
}

/// One optimizer of each kind with half of each default.
std::vector<optimizer_rule> changed_rules() {
  std::vector<optimizer_rule> all;
  for (optimizer_rule const& each : cohort::detail::default_rules) {
    std::vector<named_number> changed;
    for (named_number const& field : each.fields()) changed.push_back({field.name, field.value / 2});
    auto const alternative = cohort::detail::alternative_of<cohort::detail::any_rule>(
        static_cast<std::size_t>(each.rule()), changed);
    all.push_back(std::visit([](auto const& rule) { return optimizer_rule(rule); }, alternative));
    if (each.name() != "no_op")
      all.back() = all.back().with_learning_rate(cohort::schedule::cosine{.length = 7});
  }
  return all;
}

TEST(optimizer_rule, round_trips_through_json) {
  for (optimizer_rule const& rule : changed_rules()) {
    cohort::io::json_writer out;
    cohort::detail::rule_codec().write(out, rule);
    EXPECT_EQ(read(out.text()), rule) << out.text();
    auto const& omitted = cohort::detail::default_rules[static_cast<std::size_t>(rule.rule())];
    EXPECT_EQ(read('"' + std::string(rule.name()) + '"'), omitted);
    EXPECT_EQ(rule == omitted, rule.name() == "no_op");
  }
}

TEST(optimizer_rule, has_a_table_with_every_field) {
  for (optimizer_rule const& each : cohort::detail::default_rules) {
    std::vector<std::string_view> expected;
    if (each.name() != "no_op") expected.push_back("learning_rate");
    for (named_number const& field : each.fields()) expected.push_back(field.name);
    std::visit(
        [&]<class Rule>(Rule const&) {
          EXPECT_EQ(cohort::detail::names_of_fields<Rule>().all, expected) << each.name();
        },
        cohort::detail::alternative_of<cohort::detail::any_rule>(static_cast<std::size_t>(each.rule()), {}));
  }
}

TEST(optimizer_rule, accepts_a_schedule_for_its_momentum) {
  cohort::rate_schedule const falling = cohort::schedule::step{.initial = 0.9, .factor = 0.5};
  optimizer_rule const rule = nesterov{.momentum = falling};
  EXPECT_EQ(rule.momentum(), falling);
  EXPECT_EQ(rule.fields().size(), 1U);  // rate_in_velocity
  EXPECT_EQ(optimizer_rule(nesterov{}).with_momentum(falling), rule);
  EXPECT_NO_THROW(rule.check());
  EXPECT_THROW(optimizer_rule(adam{}).with_momentum(falling), cohort::setting_error);
  try {
    optimizer_rule(momentum{.momentum = cohort::schedule::one_cycle{0.85, 1.5, 0.85, 10}}).check();
    FAIL() << "accepted";
  } catch (cohort::setting_error const& e) {
    EXPECT_EQ(e.why().where, "momentum.peak");
  }
}

TEST(optimizer_rule, lists_fields_in_order) {
  auto const fields = optimizer_rule(adam{}).fields();
  ASSERT_EQ(fields.size(), 4U);
  EXPECT_EQ(fields.items[0], (named_number{"beta1", 0.9}));
  EXPECT_EQ(fields.items[2], (named_number{"epsilon", 1e-8}));
  EXPECT_EQ(optimizer_rule(cohort::adamw{.decay = 0.25, .epsilon_hat = 0.5}).number("epsilon_hat"), 0.5);
  EXPECT_EQ(optimizer_rule(sgd{}).number("epsilon_hat"), 0);
}

TEST(optimizer_rule, refuses_unknown_names_and_fields) {
  for (char const* const json : {R"("adamant")", R"({"adam": {"rho": 0.5}})", R"({"sgd": {"": 0.5}})",
                                 R"({"no_op": {"learning_rate": 1}})", R"({"sgd": {"learning_rate": -1}})"})
    EXPECT_THROW(read(json), cohort::data_error) << json;
}

TEST(optimizer_rule, refuses_an_epsilon_of_zero_and_reports_the_field) {
  int with_epsilon = 0;
  auto const check = [&](auto rule) {
    if constexpr (requires { rule.epsilon; }) {
      ++with_epsilon;
      std::string const name(optimizer_rule(rule).name());
      for (double const bad : {0.0, -1e-6, 1e-46, __builtin_nan("")}) {  // 1e-46: 0 in float
        rule.epsilon = bad;
        try {
          optimizer_rule(rule).check();
          FAIL() << name << " accepted " << bad;
        } catch (cohort::setting_error const& e) {
          EXPECT_EQ(e.why().where, name + ".epsilon");
        }
      }
    }
  };
  for (std::size_t kind = 0; kind < cohort::detail::default_rules.size(); ++kind)
    std::visit(check, cohort::detail::alternative_of<cohort::detail::any_rule>(kind, {}));
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
           optimizer_rule(cohort::no_op{}).with_learning_rate(0.5)})
    EXPECT_THROW(bad.check(), cohort::setting_error) << bad.name();
}

TEST(optimizer_rule, needs_a_rate_by_steps_for_a_velocity_that_contains_the_rate) {
  using cohort::schedule::unit;
  auto const falling = [](unit by) {
    return optimizer_rule(
        momentum{.learning_rate = cohort::schedule::exponential{.by = by}, .rate_in_velocity = true});
  };
  EXPECT_NO_THROW(falling(unit::step).check());
  try {
    falling(unit::epoch).check();
    FAIL();
  } catch (cohort::setting_error const& e) {
    EXPECT_EQ(e.why().where, "momentum.learning_rate");
  }
  EXPECT_NO_THROW(optimizer_rule(nesterov{.rate_in_velocity = true}).check());
}

}  // namespace optimizer_rule_test
