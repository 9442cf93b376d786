// SPDX-License-Identifier: Apache-2.0
// covers: plan/tuning
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/plan/tuned_operation.hpp>
#include <cohort/training/own_backend.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "trial.hpp"

namespace tuned_operation_test {

using namespace cohort;

/// The reference backend with four candidates for dense layers: the default ("rule"), an equal candidate, a
/// candidate that cannot be prepared, and a candidate whose implementation has another name.
struct several_ways : reference<float> {
  static constexpr std::string_view name = "several ways";
  static inline int prepared = 0;
  static inline bool has_rule = true;

  std::vector<std::string> candidates(operation_request<several_ways> const& request) const {
    if (!(*request.kind == kind_of<dense>)) return {};
    return {"rule", "same", "none", "other"};
  }
  backend_operation<several_ways> prepare(operation_request<several_ways> const& request) const {
    ++prepared;
    bool const by_rule = *request.kind == kind_of<dense> && request.candidate.empty();
    if (request.candidate == "none" || (by_rule && !has_rule))
      throw backend_error({.what = "there is no such way", .where = request.name});
    auto made = reference<float>::prepare(request);
    if (request.candidate == "other")
      for (auto& call : made.forward) call.implementation = "other loops";
    return made;
  }
};
static_assert(detail::has_candidates<several_ways> && !detail::has_candidates<reference<float>>);

/// Selects a candidate by name, times the requested candidates, and records the descriptions.
struct told final : tuning, step_autotuner_for<several_ways> {
  std::string way = "rule";
  bool times = false;
  std::vector<std::string> asked{};
  std::vector<double> seconds{};

  std::size_t choose(std::string const& what, std::span<std::string const> ways,
                     stopwatch const& seconds_of) override {
    asked.push_back(what);
    for (std::size_t i = 0; times && i < ways.size(); ++i) seconds.push_back(seconds_of(i));
    return static_cast<std::size_t>(std::find(ways.begin(), ways.end(), way) - ways.begin());
  }
};

graph two_dense(int units) {
  return graph::build([&](builder& net) {
    return net.input({6}) | dense{.units = units} | dense{.units = units} | dense{.units = 3}
           | softmax_cross_entropy{};
  });
}

std::vector<std::string> implementations_of(plan const& made) {
  std::vector<std::string> names;
  for (plan_row const& row : made.rows())
    if (row.direction == plan_pass::forward) names.push_back(row.implementation);
  return names;
}

TEST(autotuned_operation, runs_the_autotuners_choice_and_shows_it_in_the_plan) {
  told by;
  by.way = "other";
  trial<several_ways> const t(two_dense(6), {.batch = 2, .tune = &by});
  EXPECT_EQ(implementations_of(*t.plan),
            (std::vector<std::string>{"other loops, tuned: other", "other loops, tuned: other",
                                      "other loops, tuned: other", "plain loops"}));
}

TEST(autotuned_operation, uses_the_default_without_an_autotuner) {
  trial<several_ways> const t(two_dense(6), {.batch = 2});
  for (std::string const& name : implementations_of(*t.plan)) EXPECT_EQ(name, "plain loops");
}

TEST(autotuned_operation, is_prepared_once_if_the_choice_is_cached) {
  told by;
  by.way = "other";
  several_ways::prepared = 0;
  trial<several_ways> const t(two_dense(6), {.batch = 2, .tune = &by});
  EXPECT_EQ(several_ways::prepared, 4);
}

TEST(autotuned_operation, is_keyed_by_shape_batch_and_pass_but_not_by_name) {
  told by;
  auto const asked = [&](int units, plan_settings settings) {
    settings.tune = &by;
    by.asked.clear();
    trial<several_ways> const t(two_dense(units), settings);
    return by.asked;
  };
  auto const all = asked(6, {.batch = 2});
  ASSERT_EQ(all.size(), 3U);
  EXPECT_NE(all[0], all[1]) << "no gradient of the first input is wanted";
  EXPECT_NE(all[1], all[2]) << "3 units, not 6";
  EXPECT_NE(all[0].find("several ways"), all[0].npos) << all[0];
  EXPECT_EQ(asked(6, {.batch = 2}), all);
  for (auto const& other :
       {asked(7, {.batch = 2}), asked(6, {.batch = 3}), asked(6, {.batch = 2, .training = false})})
    EXPECT_NE(other[1], all[1]);
  graph const alike = graph::build([](builder& net) {
    return net.input({6}) | dense{.units = 6} | dense{.units = 6, .name = "a"}
           | dense{.units = 6, .name = "b"} | dense{.units = 3} | softmax_cross_entropy{};
  });
  by.asked.clear();
  trial<several_ways> const t(alike, {.batch = 2, .tune = &by});
  EXPECT_EQ(by.asked[1], by.asked[2]);
}

TEST(autotuned_operation, measures_only_candidates_that_differ_and_run) {
  told by;
  by.times = true;
  trial<several_ways> const t(two_dense(6), {.batch = 2, .tune = &by});
  ASSERT_EQ(by.seconds.size(), 12U);
  for (std::size_t step = 0; step < 3; ++step) {
    EXPECT_TRUE(std::isfinite(by.seconds[4 * step]));
    EXPECT_TRUE(std::isinf(by.seconds[4 * step + 1])) << "the same once more";
    EXPECT_TRUE(std::isinf(by.seconds[4 * step + 2])) << "cannot run";
    EXPECT_TRUE(std::isfinite(by.seconds[4 * step + 3]));
  }
}

TEST(autotuned_operation, fails_if_the_default_candidate_cannot_run) {
  told by;
  by.way = "other";
  by.times = true;
  several_ways::has_rule = false;
  EXPECT_THROW(trial<several_ways>(two_dense(6), {.batch = 2, .tune = &by}), backend_error);
  several_ways::has_rule = true;
}

TEST(autotuned_operation, refuses_an_autotuner_of_another_backend) {
  struct of_nobody final : tuning {
    std::size_t choose(std::string const&, std::span<std::string const>, stopwatch const&) override {
      return 0;
    }
  } by;
  EXPECT_THROW(trial<several_ways>(two_dense(6), {.batch = 2, .tune = &by}), setting_error);
  trial<reference<float>> const has_one_way(two_dense(6), {.batch = 2, .tune = &by});
}

TEST(autotuned_operation, does_not_affect_losses_and_gradients) {
  told by;
  by.times = true;
  trial<several_ways> tuned(two_dense(6), {.batch = 2, .tune = &by});
  trial<several_ways> plain(two_dense(6), {.batch = 2});
  EXPECT_EQ(tuned.step(), plain.step());
  EXPECT_EQ(tuned.all_gradients(), plain.all_gradients());
}

}  // namespace tuned_operation_test
