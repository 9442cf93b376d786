// SPDX-License-Identifier: Apache-2.0
#pragma once
// Requirements on ranks that share steps with unbounded staleness, over any communicator. Every rank calls
// each case.
#include <algorithm>
#include <cohort/strategy/detail/asynchronous_exchange.hpp>
#include <cohort/strategy/threshold_sharing.hpp>
#include <string>
#include "sharing_cases.hpp"

namespace cohort_test {

/// Sharing with unbounded staleness, with the mean of the steps instead of their sum.
inline threshold_sharing unbounded_sharing() {
  threshold_sharing how = update_sharing();
  how.settings.max_staleness = unbounded;
  return how;
}

/// Steps until a vote takes effect.
inline int steps_to_hear(communicator const& world) {
  return world.size() > 1 ? static_cast<int>(detail::longest_lead) : 0;
}

inline void unbounded_sharing_ends_epochs_with_the_same_bits(communicator& world) {
  for (int workers : {1, 2}) checksum_after(world, unbounded_sharing(), with_state(workers));
}

/// All ranks stop in the same step: within an epoch if the epoch is long enough, otherwise at its end.
inline void unbounded_sharing_stops_when_one_asks(communicator& world) {
  struct asking final : listener {
    int stops = 0, saves = 0;
    void on_step(training& run, step_report const& done) override {
      bool const last = run.world().rank() == run.world().size() - 1;
      if (done.step == 2 && last) run.request({.stop = true});
      if (done.step == 1 && last) run.request({.save = true});
    }
    void on_vote(training&, votes const& all) override {
      stops += all.stop ? 1 : 0;
      saves += all.save ? 1 : 0;
    }
  };
  for (int const steps : {10, 60}) {
    asking listening;
    bright_thirds const examples(4 * steps * world.size());
    training made = trainer<narrow>(small, world, unbounded_sharing(), with_state());
    fit_report const report =
        made.fit(examples.data(), {.batch = 4, .epochs = 50, .listeners = {&listening}});
    EXPECT_TRUE(report.stopped);
    EXPECT_EQ(report.steps, std::min(steps, 4 + steps_to_hear(world)));
    EXPECT_EQ(listening.stops, 1);
    EXPECT_EQ(listening.saves, 1);
    EXPECT_TRUE(same_text(world, made.checksum()));
    EXPECT_FALSE(made.fit(examples.data(), {.batch = 4, .epochs = 1}).stopped);
  }
}

/// One rank reads NaN. All ranks are notified of it in the same way as of a vote.
inline void unbounded_sharing_leaves_out_numbers_that_are_not_finite(communicator& world) {
  int const bad = world.size() - 1, step = 1;
  for (int const steps : {6, 50}) {
    bright_thirds examples(8 * steps * world.size());
    dataset const data = examples.data();
    spoil(examples, world, bad, step, 8);
    auto settings = with_state();
    training stopping = trainer<narrow>(small, world, unbounded_sharing(), settings);
    std::string said;
    try {
      stopping.fit(data, {.batch = 8, .epochs = 1, .shuffle = false});
    } catch (numeric_error const& why) {
      said = why.what();
    }
    EXPECT_NE(said.find(detail::text_of({"step ", step})), std::string::npos) << said;
    EXPECT_EQ(stopping.step(), std::min(step + 1 + steps_to_hear(world), steps));

    settings.not_finite = when_not_finite::skip;
    training made = trainer<narrow>(small, world, unbounded_sharing(), settings);
    fit_report const report = made.fit(data, {.batch = 8, .epochs = 2, .shuffle = false});
    EXPECT_EQ(report.steps, 2 * steps);
    EXPECT_EQ(report.skipped, world.rank() == bad ? 2 : 0);
    EXPECT_TRUE(same_text(world, made.checksum()));
    for (float const w : parameters_of<float>(made)) ASSERT_TRUE(std::isfinite(w));
  }
}

/// Within an epoch each rank has its own parameters. Evaluation uses the mean of these parameters, and does
/// not change the run.
inline void unbounded_sharing_is_evaluated_alike(communicator& world) {
  bright_thirds const examples(8 * 5 * world.size()), held(50, 2);
  evaluating looking(held.data(), 50);
  training made = trainer<narrow>(with_norms, world, unbounded_sharing(), with_state());
  made.fit(examples.data(), {.batch = 8, .epochs = 1, .listeners = {&looking}});
  EXPECT_EQ(looking.evaluated, 5);
  EXPECT_TRUE(same_text(world, made.checksum()));
}

}  // namespace cohort_test
