// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/optimizer/updater.hpp>
#include <string>
#include <vector>

namespace {

using cohort::adagrad;
using cohort::adam;
using cohort::momentum;
using cohort::named_number;
using cohort::nesterov;
using cohort::sgd;
using cohort::updater;

constexpr updater slow = adagrad{.rate = 0.02};
static_assert(slow == updater(adagrad{.rate = 0.02, .epsilon = 1e-6, .initial = 1e-6}));
static_assert(slow != updater(adagrad{}) && slow != updater(sgd{.rate = 0.02}));
static_assert(updater() == updater(sgd{.rate = 0.1}));
static_assert(updater(momentum{}) != updater(nesterov{}));
static_assert(slow.state_arrays() == 1 && slow.state_name(0) == "squares" && slow.initial_state(0) == 1e-6);
static_assert(updater(adagrad{.initial = 0.5}).initial_state(0) == 0.5);
static_assert(updater(sgd{}).state_arrays() == 0 && updater(momentum{}).state_arrays() == 1);
static_assert(updater(adam{}).state_arrays() == 2 && updater(adam{}).initial_state(1) == 0);
static_assert(sizeof(updater) <= 96);

TEST(updater, has_the_defaults_of_the_literature) {
  EXPECT_EQ(updater(sgd{}).rate(), cohort::rate_schedule(0.1));
  EXPECT_EQ(updater(momentum{}).number(0), 0.9);
  EXPECT_EQ(updater(nesterov{}).rate(), cohort::rate_schedule(0.1));
  EXPECT_EQ(updater(adam{}).rate(), cohort::rate_schedule(1e-3));
  EXPECT_EQ(updater(adam{}).number(0), 0.9);
  EXPECT_EQ(updater(adam{}).number(1), 0.999);
  EXPECT_EQ(updater(adam{}).number(2), 1e-8);
}

TEST(updater, comes_back_from_its_name_and_fields) {
  for (updater const& each : std::vector<updater>{
           sgd{0.3}, momentum{.momentum = 0.5}, nesterov{.momentum = 0.7},
           adagrad{.rate = 1, .epsilon = 1e-3, .initial = 0.1},
           adam{.rate = cohort::schedule::step{}, .beta1 = 0.8, .beta2 = 0.99, .epsilon = 1e-5}}) {
    auto const fields = each.fields();
    EXPECT_EQ(updater::from(each.name(), each.rate(), {fields.begin(), fields.end()}), each);
  }
  EXPECT_EQ(updater::from("adam", 1e-3, {}), updater(adam{}));
}

TEST(updater, names_its_fields_in_order) {
  auto const fields = updater(adam{}).fields();
  ASSERT_EQ(fields.size(), 3U);
  EXPECT_EQ(fields.items[0], (named_number{"beta1", 0.9}));
  EXPECT_EQ(fields.items[2], (named_number{"epsilon", 1e-8}));
}

TEST(updater, refuses_unknown_names_and_fields) {
  EXPECT_THROW(updater::from("adamant", 0.1, {}), cohort::setting_error);
  named_number const wrong[] = {{"rho", 0.5}};
  EXPECT_THROW(updater::from("adam", 0.1, wrong), cohort::setting_error);
  named_number const nameless[] = {{"", 0.5}};
  EXPECT_THROW(updater::from("sgd", 0.1, nameless), cohort::setting_error);
}

TEST(updater, refuses_an_epsilon_of_zero_by_name) {
  try {
    updater(adagrad{.epsilon = 0}).check();
    FAIL() << "accepted";
  } catch (cohort::setting_error const& e) {
    EXPECT_EQ(e.why().where, "adagrad.epsilon");
    EXPECT_EQ(e.why().got, "0");
  }
  EXPECT_THROW(updater(adam{.epsilon = 0}).check(), cohort::setting_error);
}

TEST(updater, checks_each_field) {
  for (updater const& good : std::vector<updater>{sgd{}, momentum{}, nesterov{}, adagrad{}, adam{},
                                                  momentum{.momentum = 0}, adagrad{.initial = 0}})
    EXPECT_NO_THROW(good.check());
  for (updater const& bad : std::vector<updater>{
           sgd{.rate = -1}, momentum{.momentum = 1}, nesterov{.momentum = -0.1}, adagrad{.epsilon = -1e-6},
           adagrad{.initial = -1}, adam{.beta1 = 1}, adam{.beta2 = 1.5}, adam{.epsilon = __builtin_nan("")},
           momentum{.momentum = __builtin_nan("")}})
    EXPECT_THROW(bad.check(), cohort::setting_error);
}

}  // namespace
