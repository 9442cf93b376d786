// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/optimizer/schedule.hpp>
#include <limits>

namespace {

using cohort::named_number;
using cohort::rate_schedule;
namespace schedule = cohort::schedule;

constexpr rate_schedule halved = schedule::step{.initial = 0.4, .factor = 0.5, .every = 3};
static_assert(halved == rate_schedule(schedule::step{0.4, 0.5, 3, schedule::unit::epoch}));
static_assert(halved != rate_schedule(0.4));
static_assert(rate_schedule(1) == rate_schedule(1.0)
              && rate_schedule(schedule::fixed{0.1}) == rate_schedule(0.1));

TEST(schedule, fixed_never_changes) {
  rate_schedule const rate = 0.02;
  EXPECT_EQ(rate.value(0, 0), 0.02);
  EXPECT_EQ(rate.value(1'000'000, 99), 0.02);
}

TEST(schedule, step_falls_at_each_period) {
  double const expected[] = {0.4, 0.4, 0.4, 0.2, 0.2, 0.2, 0.1};
  for (int x = 0; x < 7; ++x) {
    EXPECT_DOUBLE_EQ(halved.value(1000, x), expected[x]);
    rate_schedule const by_step = schedule::step{0.4, 0.5, 3, schedule::unit::step};
    EXPECT_DOUBLE_EQ(by_step.value(x, 1000), expected[x]);
  }
}

TEST(schedule, comes_back_from_its_name_and_fields) {
  for (rate_schedule const& rate :
       {rate_schedule(0.25), halved, rate_schedule(schedule::step{.by = schedule::unit::step})}) {
    auto const fields = rate.fields();
    EXPECT_EQ(rate_schedule::from(rate.name(), {fields.begin(), fields.end()}), rate);
  }
}

TEST(schedule, refuses_unknown_names_and_fields) {
  EXPECT_THROW(rate_schedule::from("stair", {}), cohort::setting_error);
  named_number const unknown[] = {{"gamma", 0.5}};
  EXPECT_THROW(rate_schedule::from("step", unknown), cohort::setting_error);
  named_number const unit[] = {{"by", 2}};
  EXPECT_THROW(rate_schedule::from("step", unit), cohort::setting_error);
}

TEST(schedule, checks_its_numbers) {
  EXPECT_NO_THROW(halved.check());
  EXPECT_NO_THROW(rate_schedule(0).check());
  EXPECT_THROW(rate_schedule(-0.1).check(), cohort::setting_error);
  EXPECT_THROW(rate_schedule(std::numeric_limits<double>::quiet_NaN()).check(), cohort::setting_error);
  EXPECT_THROW(rate_schedule(std::numeric_limits<double>::infinity()).check(), cohort::setting_error);
  EXPECT_THROW(rate_schedule(schedule::step{.factor = 0}).check(), cohort::setting_error);
  EXPECT_THROW(rate_schedule(schedule::step{.every = 0}).check(), cohort::setting_error);
}

}  // namespace
