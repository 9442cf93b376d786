// SPDX-License-Identifier: Apache-2.0
// covers: optimizer/schedule
#include "golden_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cohort/io/json.hpp>
#include <cohort/optimizer/detail/optimizer_fields.hpp>
#include <cohort/optimizer/rate_schedule.hpp>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rate_schedule_test {

using cohort::named_number;
using cohort::rate_schedule;
namespace schedule = cohort::schedule;
using schedule::unit;

constexpr rate_schedule halved = schedule::step{.initial = 0.4, .factor = 0.5, .every = 3};
static_assert(halved == rate_schedule(schedule::step{0.4, 0.5, 3, unit::epoch}));
static_assert(halved != rate_schedule(0.4));
static_assert(rate_schedule(1) == rate_schedule(1.0)
              && rate_schedule(schedule::fixed{0.1}) == rate_schedule(0.1));
static_assert(rate_schedule(0.1).is_fixed() && !halved.is_fixed());

constexpr rate_schedule pieces = schedule::map{.values = {{0, 0.1}, {1000, 0.01}}, .by = unit::step};
static_assert(pieces != rate_schedule(schedule::map{.values = {{0, 0.1}, {1001, 0.01}}, .by = unit::step}));
constexpr rate_schedule warm = schedule::warm_up{.length = 5, .rate = halved};
static_assert(warm != halved && warm == rate_schedule(schedule::warm_up{5, halved, unit::epoch}));
static_assert(rate_schedule(schedule::warm_up{.length = 0, .rate = halved}) == halved);
static_assert(!rate_schedule(schedule::warm_up{.length = 5, .rate = 0.1}).is_fixed());

/// A schedule of each kind, with valid numbers other than the defaults.
std::vector<rate_schedule> examples() {
  return {0.25,
          halved,
          schedule::exponential{0.2, 0.5, unit::step},
          schedule::inverse{0.2, 0.5, 0.75, unit::step},
          schedule::polynomial{0.2, 100, 2, unit::step},
          schedule::sigmoid{0.2, 0.5, 10, unit::step},
          pieces,
          schedule::cosine{0.2, 100, 0.01, true, 2, unit::step},
          schedule::one_cycle{0.1, 0.2, 0.01, 100, 0.5, unit::step},
          warm,
          schedule::warm_up{3, 0.25, unit::step}};
}

// Values from PyTorch and from formulas, made by tests/golden/schedules.py. Both sides round a power or a
// cosine and a few products: some units in the last place of numbers below 1.
TEST(rate_schedule, has_the_values_of_pytorch) {
  std::set<std::string> seen;
  bool warmed = false;
  for (golden::one_case const& one : golden::read("schedules.txt")) {
    if (one.name.empty() || one.name == "reduce_on_plateau") continue;  // tested by plateau_test
    ASSERT_EQ(one.rows.size(), 1U);
    seen.insert(one.name);
    auto fields = one.fields();
    auto const by = [&](double what) {
      auto all = fields;
      if (one.name != "fixed") all.push_back({"by", what});
      all.push_back({"warm_up_by", what});
      auto const& rows = cohort::detail::schedule_rows;
      auto const kind = std::ranges::find(rows, one.name, &cohort::detail::schedule_row::name) - rows.begin();
      return cohort::detail::schedule_of(
          cohort::detail::alternative_of<cohort::detail::any_schedule>(static_cast<std::size_t>(kind), all));
    };
    for (named_number const& field : fields) warmed |= field.name == "warm_up";
    EXPECT_NO_THROW(by(0).check()) << one.name;
    std::int64_t x = 0;
    for (double const expected : one.rows[0].numbers) {
      EXPECT_NEAR(by(0).value(x, 77), expected, 1e-15) << one.name << " at step " << x;
      EXPECT_NEAR(by(1).value(77, x), expected, 1e-15) << one.name << " at epoch " << x;
      ++x;
    }
    EXPECT_GE(x, 10) << one.name;
  }
  EXPECT_TRUE(warmed);
  for (auto const& row : cohort::detail::schedule_rows)
    EXPECT_TRUE(seen.count(std::string(row.name))) << row.name << " has no golden case";
}

TEST(rate_schedule, keeps_the_last_value_after_the_end) {
  EXPECT_EQ(rate_schedule(schedule::polynomial{.length = 10}).value(0, 11), 0);
  EXPECT_EQ(rate_schedule(schedule::cosine{.length = 10, .floor = 0.01}).value(0, 15), 0.01);
  EXPECT_EQ(rate_schedule(schedule::one_cycle{.final = 0.02, .length = 10}).value(0, 15), 0.02);
  EXPECT_EQ(pieces.value(1'000'000, 0), 0.01);
}

TEST(rate_schedule, counts_epochs_by_default) {
  rate_schedule const all[]{schedule::step{},
                            schedule::exponential{},
                            schedule::inverse{},
                            schedule::polynomial{.length = 5},
                            schedule::sigmoid{},
                            schedule::map{.values = {{0, 0.1}, {2, 0.01}}},
                            schedule::cosine{.length = 5},
                            schedule::one_cycle{.length = 5},
                            schedule::warm_up{.length = 5}};
  for (rate_schedule const& one : all) {
    for (int epoch = 0; epoch < 5; ++epoch)
      EXPECT_EQ(one.value(1000, epoch), one.value(0, epoch)) << one.name() << ", epoch " << epoch;
    EXPECT_NE(one.value(0, 0), one.value(0, 3)) << one.name();
  }
}

TEST(rate_schedule, lists_the_length_of_each_finite_part) {
  auto const extents_of = [](rate_schedule const& one) {
    std::vector<std::string> all;
    for (rate_schedule::extent const& part : one.extents())
      all.push_back(std::string(part.name) + ' ' + std::string(part.field) + ' '
                    + std::to_string(static_cast<int>(part.length))
                    + (part.by == unit::step ? " steps" : " epochs") + (part.is_decay ? ", decay" : ""));
    return all;
  };
  using texts = std::vector<std::string>;
  EXPECT_EQ(extents_of(0.1), texts());
  EXPECT_EQ(extents_of(schedule::exponential{}), texts());
  EXPECT_EQ(extents_of(schedule::polynomial{.length = 7}), texts{"polynomial length 7 epochs, decay"});
  EXPECT_EQ(extents_of(schedule::cosine{.length = 7, .restarts = true, .by = unit::step}),
            texts{"cosine length 7 steps"});
  EXPECT_EQ(extents_of(schedule::warm_up{.length = 3, .rate = schedule::one_cycle{.length = 7}}),
            (texts{"one_cycle length 7 epochs, decay", "warm_up length 3 epochs"}));
  EXPECT_EQ(extents_of(pieces), texts{"map from 1001 steps"});
}

TEST(rate_schedule, supports_maps_of_eight_values) {
  rate_schedule const full =
      schedule::map{.values = {{0, 8}, {1, 7}, {2, 6}, {3, 5}, {4, 4}, {5, 3}, {6, 2}, {7, 1}}};
  EXPECT_NO_THROW(full.check());
  for (int x = 0; x < 8; ++x) EXPECT_EQ(full.value(0, x), 8 - x);
  EXPECT_EQ(full.value(0, 100), 1);
}

TEST(rate_schedule, advances_the_schedule_during_the_warm_up) {
  rate_schedule const both =
      schedule::warm_up{.length = 4,
                        .rate = schedule::exponential{.initial = 1, .factor = 0.5, .by = unit::step},
                        .by = unit::step};
  double const expected[] = {0.25, 0.5 * 0.5, 0.75 * 0.25, 0.125, 0.0625};
  for (int x = 0; x < 5; ++x) EXPECT_DOUBLE_EQ(both.value(x, 9), expected[x]);
}

rate_schedule read(std::string const& json) {
  cohort::io::json_document const parsed = cohort::io::parse_json(json);
  rate_schedule rate = 0;
  cohort::detail::schedule_codec().read(parsed.root(), rate);
  return rate;
}

TEST(rate_schedule, round_trips_through_json) {
  std::set<std::string> seen;
  for (rate_schedule const& rate : examples()) {
    cohort::io::json_writer out;
    cohort::detail::schedule_codec().write(out, rate);
    EXPECT_EQ(read(out.text()), rate) << out.text();
    seen.insert(std::string(rate.name()));
  }
  for (auto const& row : cohort::detail::schedule_rows)
    EXPECT_TRUE(seen.count(std::string(row.name))) << row.name << " is in no example";
  EXPECT_EQ(read(R"("exponential")"), rate_schedule(schedule::exponential{}));
}

TEST(rate_schedule, has_a_table_with_every_field) {
  std::size_t kind = 0;
  auto const expect_fields = [&]<class Alternative>(Alternative const&) {
    auto const& row = cohort::detail::schedule_rows[kind++];
    std::vector<std::string_view> expected{"values"};
    if (row.name != "map") expected.assign(row.fields.begin(), std::ranges::find(row.fields, ""));
    if (row.name != "fixed") expected.push_back("by");
    expected.insert(expected.end(), {"warm_up", "warm_up_by"});
    EXPECT_EQ(cohort::detail::names_of_fields<Alternative>().all, expected) << row.name;
  };
  while (kind < cohort::detail::schedule_rows.size())
    std::visit(expect_fields, cohort::detail::alternative_of<cohort::detail::any_schedule>(kind, {}));
}

TEST(rate_schedule, refuses_unknown_names_and_fields) {
  for (char const* const json :
       {R"("stair")", R"({"stair": {}})", R"({"step": {"gamma": 0.5}})", R"({"step": {"": 0.5}})",
        R"({"step": {"by": 2}})", R"({"step": {"by": "year"}})", R"({"fixed": {"by": "epoch"}})",
        R"({"step": {"every": 1.5}})", R"({"map": {"values": []}})", "-1"})
    EXPECT_THROW(read(json), cohort::data_error) << json;
}

TEST(rate_schedule, refuses_to_warm_up_twice) {
  EXPECT_THROW(rate_schedule(schedule::warm_up{.length = 5, .rate = warm}), cohort::setting_error);
}

TEST(rate_schedule, accepts_valid_schedules) {
  for (rate_schedule const& rate : examples()) EXPECT_NO_THROW(rate.check()) << rate.name();
  EXPECT_NO_THROW(rate_schedule(0).check());
}

void refuses(rate_schedule const& rate, std::string const& field) {
  try {
    rate.check();
    ADD_FAILURE() << rate.name() << ": accepted a bad " << field;
  } catch (cohort::setting_error const& e) {
    EXPECT_EQ(e.why().where, "rate." + field);
  }
}

TEST(rate_schedule, refuses_invalid_numbers_and_reports_the_field) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  double const infinity = std::numeric_limits<double>::infinity();
  refuses(-0.1, "value");
  refuses(nan, "value");
  refuses(infinity, "value");
  refuses(schedule::step{.initial = -1}, "initial");
  refuses(schedule::step{.factor = 0}, "factor");
  refuses(schedule::step{.every = 0}, "every");
  refuses(schedule::exponential{.factor = -1}, "factor");
  refuses(schedule::inverse{.gamma = -0.1}, "gamma");
  refuses(schedule::inverse{.power = -1}, "power");
  refuses(schedule::polynomial{}, "length");
  refuses(schedule::sigmoid{.gamma = nan}, "gamma");
  EXPECT_NO_THROW(rate_schedule(schedule::sigmoid{.gamma = -1, .middle = -5}).check());
  refuses(schedule::cosine{}, "length");
  refuses(schedule::cosine{.length = 5, .floor = -1}, "floor");
  refuses(schedule::cosine{.length = 5, .growth = 0.5}, "growth");
  refuses(schedule::one_cycle{}, "length");
  refuses(schedule::one_cycle{.peak = -1, .length = 5}, "peak");
  refuses(schedule::one_cycle{.length = 5, .rise = 1}, "rise");
  refuses(schedule::warm_up{.length = -5}, "warm_up");
}

TEST(rate_schedule, refuses_a_map_that_does_not_increase_from_0) {
  refuses(schedule::map{}, "from_0");
  refuses(schedule::map{.values = {{1, 0.1}}}, "from_0");
  refuses(schedule::map{.values = {{0, 0.1}, {5, 0.1}, {5, 0.2}}}, "from_2");
  refuses(schedule::map{.values = {{0, 0.1}, {5, 0.1}, {0, 0.2}}}, "from_2");
  refuses(schedule::map{.values = {{0, 0.1}, {-1, 0.2}}}, "from_1");
  refuses(schedule::map{.values = {{0, 0.1}, {}, {5, 0.2}}}, "from_2");
  refuses(schedule::map{.values = {{0, 0.1}, {5, -0.1}}}, "value_1");
}

TEST(rate_schedule, of_a_momentum_must_stay_below_1) {
  EXPECT_NO_THROW(rate_schedule(0.99).check("momentum", true));
  for (rate_schedule const& bad :
       {rate_schedule(1), rate_schedule(schedule::exponential{.initial = 0.5, .factor = 1.1}),
        rate_schedule(schedule::one_cycle{.initial = 0.85, .peak = 1, .final = 0.85, .length = 10}),
        rate_schedule(schedule::map{.values = {{0, 0.5}, {5, 1.5}}})})
    EXPECT_THROW(bad.check("momentum", true), cohort::setting_error) << bad.name();
}

}  // namespace rate_schedule_test
