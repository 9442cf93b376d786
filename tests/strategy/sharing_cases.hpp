// SPDX-License-Identifier: Apache-2.0
#pragma once
// Requirements on ranks that share gradients, over any communicator. Every rank calls each case.
#include <cohort/strategy/threshold_sharing.hpp>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>
#include "rank_cases.hpp"

namespace cohort_test {

/// Dense enough for the small network.
inline threshold_sharing sharing(route way = route::to_all) {
  return {.threshold = threshold::quantile{.density = 0.05},
          .settings = {.route = way, .group = sharing_group::rank}};
}

/// Shares steps instead of gradients, with the mean of the steps instead of their sum.
inline threshold_sharing update_sharing(route way = route::to_all) {
  threshold_sharing how = sharing(way);
  how.settings.share = share::update;
  how.settings.mean = true;
  return how;
}

/// Messages are applied two steps late.
inline threshold_sharing late_sharing(share what = share::update) {
  threshold_sharing how = what == share::update ? update_sharing() : sharing();
  how.settings.max_staleness = 2;
  return how;
}

/// One message for all ranks that are threads of one process.
inline threshold_sharing process_sharing(threshold_sharing how) {
  how.settings.group = sharing_group::process;
  return how;
}

inline constexpr auto with_norms = network<[](builder& net) {
  return net.input({1, 8, 8}) | conv2d{.filters = 4, .kernel = 3} | batch_norm{} | relu{}
         | max_pool{.window = 2} | dense{.units = 3} | softmax_cross_entropy{};
}>();

template <class T, class Strategy>
void sharing_ranks_hold_the_same_bits(communicator& world, Strategy const& how) {
  bright_thirds const examples(103);
  for (int workers : {1, 2}) {
    step_by_step compare;
    training made = trainer<reference<T>>(small, world, how, with_state(workers));
    made.fit(examples.data(), {.batch = 7, .epochs = 2, .listeners = {&compare}});
    EXPECT_EQ(compare.different, 0);
  }
}

inline void sharing_runs_of_one_seed_have_the_same_bits(communicator& world) {
  for (route const way : {route::to_all, route::merged})
    for (auto const& how : {sharing(way), update_sharing(way), late_sharing(), late_sharing(share::gradient),
                            process_sharing(sharing(way))})
      for (int workers : {1, 2})
        EXPECT_EQ(checksum_after(world, how, with_state(workers)),
                  checksum_after(world, how, with_state(workers)));
}

/// The threshold is so small that every element is sent, rounded to 16 significant bits. The result equals
/// that of allreduce up to 1e-5.
inline void sharing_everything_is_allreduce(communicator& world, route way) {
  bright_thirds const examples(96);
  auto const trained = [&](auto how) {
    training made = trainer<wide>(small, world, how, plain_sgd());
    made.fit(examples.data(), {.batch = 24 / world.size(), .epochs = 2});
    return parameters_of(made);
  };
  threshold_sharing all{.threshold = threshold::fixed{1e-12}, .settings = {.route = way}};
  EXPECT_LT(largest_difference(trained(all), trained(allreduce{})), 1e-5);
  all.settings.share = share::update;
  all.settings.mean = true;
  EXPECT_LT(largest_difference(trained(all), trained(allreduce{})), 1e-5);
}

template <class Strategy>
void sharing_learns_what_dense_learns(communicator& world, Strategy const& how) {
  bright_thirds const examples(240), held(90, 2);
  auto const accuracy = [&](auto const& strategy) {
    training made = trainer<narrow>(small, world, strategy, plain_sgd());
    made.fit(examples.data(), {.batch = 8, .epochs = 12});
    return made.evaluate(held.data()).accuracy().value();
  };
  EXPECT_GE(accuracy(how), accuracy(allreduce{}) - 0.04);
}

/// After the sizes, each message is passed from rank to rank until all ranks have it.
inline void sharing_sends_the_bytes_of_its_contract(communicator& world) {
  struct counting final : listener {
    strategy const* of = nullptr;
    std::vector<double> bytes, messages;
    void on_step(training&, step_report const& done) override {
      bytes.push_back(static_cast<double>(done.bytes_sent));
      messages.push_back(of->report()[3].value);
    }
  } sent;
  bright_thirds const examples(12 * 8 * world.size());
  auto how = sharing().on(world);
  sent.of = how.get();
  training made = trainer<narrow>(small, world, std::move(how), with_state());
  made.fit(examples.data(), {.batch = 8, .epochs = 1, .listeners = {&sent}});
  ASSERT_EQ(sent.bytes.size(), 12U);
  double sums[2]{sent.bytes[7], sent.messages[7] - sent.messages[6]};
  EXPECT_GE(sums[1], 96 + 2 + 8);
  EXPECT_LT(sums[1], 4.0 * static_cast<double>(small.parameter_count()));
  world.allreduce(std::span<double>(sums));
  int const others = world.size() - 1;
  EXPECT_EQ(sums[0], others * (sums[1] + 8 * world.size()));
}

/// An array of a strategy's state, as floats.
inline std::vector<float> array_of(strategy const& from, std::string_view name) {
  std::vector<float> values;
  for (strategy_state::array const& one : from.state().arrays)
    if (one.name == name) {
      values.resize(one.values.size() / sizeof(float));
      std::memcpy(values.data(), one.values.data(), one.values.size());
    }
  return values;
}

inline void sharing_stops_all_for_a_number_that_is_not_finite(communicator& world,
                                                              threshold_sharing const& sharing) {
  bright_thirds examples(16 * world.size());
  dataset const data = examples.data();
  int const bad = world.size() - 1;
  spoil(examples, world, bad, 1, 8);
  auto settings = with_state();
  std::vector<float> before;
  std::string untouched, said;
  auto how = sharing.on(world);
  strategy const& look = *how;
  training made = trainer<narrow>(small, world, std::move(how), settings);
  struct looking final : listener {
    std::function<void(training&)> see;
    void on_step(training& run, step_report const&) override { see(run); }
  } listening;
  listening.see = [&](training& run) { before = array_of(look, "residual"), untouched = run.checksum(); };
  try {
    made.fit(data, {.batch = 8, .epochs = 1, .shuffle = false, .listeners = {&listening}});
  } catch (numeric_error const& why) {
    said = why.what();
  }
  EXPECT_NE(said.find("step 1"), std::string::npos) << said;
  EXPECT_EQ(made.checksum(), untouched);
  EXPECT_FALSE(before.empty());
  if (world.rank() == bad
      && (sharing.settings.route == route::to_all || bad % 2 == 1)) {  // merges no message
    EXPECT_EQ(array_of(look, "residual"), before);
  }

  settings.not_finite = when_not_finite::skip;
  training skipping = trainer<narrow>(small, world, sharing, settings);
  fit_report const report = skipping.fit(data, {.batch = 8, .epochs = 2, .shuffle = false});
  EXPECT_EQ(report.steps, 4);
  EXPECT_EQ(report.skipped, sharing.settings.share == share::gradient || world.rank() == bad ? 2 : 0);
  EXPECT_TRUE(same_text(world, skipping.checksum()));
  for (float const w : parameters_of<float>(skipping)) ASSERT_TRUE(std::isfinite(w));
}

/// One rank reads NaN; all ranks are notified two steps later, or at the epoch's end.
inline void late_numbers_that_are_not_finite_are_left_out_by_all(communicator& world,
                                                                 threshold_sharing const& how) {
  int const bad = world.size() - 1;
  for (int const step : {1, 5}) {
    bright_thirds examples(48 * world.size());
    dataset const data = examples.data();
    spoil(examples, world, bad, step, 8);
    auto settings = with_state();
    training stopping = trainer<narrow>(small, world, how, settings);
    std::string said;
    try {
      stopping.fit(data, {.batch = 8, .epochs = 1, .shuffle = false});
    } catch (numeric_error const& why) {
      said = why.what();
    }
    EXPECT_NE(said.find(detail::text_of({"step ", step})), std::string::npos) << said;
    EXPECT_EQ(stopping.step(), std::min(step + 3, 6));
    settings.not_finite = when_not_finite::skip;
    training made = trainer<narrow>(small, world, how, settings);
    fit_report const report = made.fit(data, {.batch = 8, .epochs = 2, .shuffle = false});
    EXPECT_EQ(report.skipped, how.settings.share == share::gradient ? (step == 1 ? 2 : 0)
                              : world.rank() == bad                 ? 2
                                                                    : 0);
    EXPECT_TRUE(same_text(world, made.checksum()));
    for (float const w : parameters_of<float>(made)) ASSERT_TRUE(std::isfinite(w));
  }
}

template <class Strategy>
void sharing_trains_on_uneven_data(communicator& world, Strategy const& how) {
  if (world.size() == 1) return;
  int const last = world.size() - 1;
  training made = trainer<wide>(small, world, how, plain_sgd());
  fit_report const report = made.fit(uneven_stream(), {.batch = 4, .epochs = 2});
  EXPECT_EQ(report.examples, 2 * 10 * last * (last + 1) / 2);
  EXPECT_TRUE(same_text(world, made.checksum()));
  EXPECT_TRUE(same_text(world, std::to_string(made.step())));

  bright_thirds const one(1);  // all ranks except one have no examples
  training few = trainer<wide>(with_norms, world, how, plain_sgd());
  few.fit(one.data(), {.batch = 5, .epochs = 3});
  EXPECT_EQ(few.step(), 3);
  EXPECT_TRUE(same_text(world, few.checksum()));
}

inline void sharing_stops_when_one_asks(communicator& world) {
  struct asking final : listener {
    void on_step(training& run, step_report const& done) override {
      if (done.step == 2 && run.world().rank() == run.world().size() - 1) run.request({.stop = true});
    }
  } listening;
  bright_thirds const examples(200);
  for (route const way : {route::to_all, route::merged}) {
    training made = trainer<narrow>(small, world, sharing(way), with_state());
    fit_report const report =
        made.fit(examples.data(), {.batch = 4, .epochs = 50, .listeners = {&listening}});
    EXPECT_TRUE(report.stopped);
    EXPECT_EQ(report.steps, 4);
  }
}

/// While parameters are constant, running statistics equal those of parameter averaging at the epoch's end.
/// Evaluation before the epoch's end gives the same result on all ranks, and changes nothing.
inline void sharing_takes_the_mean_of_running_statistics(communicator& world) {
  bright_thirds const examples(8 * 3 * world.size() + 1);  // in the last batch some ranks have no examples
  auto settings = plain_sgd();
  settings.optimizer.rule = sgd{.learning_rate = 1e-30};
  auto const trained = [&](auto const& how, int expected_alike) {
    evaluating looking(examples.data(), 8 * 3 * world.size() + 1);
    training made = trainer<wide>(with_norms, world, how, settings);
    made.fit(examples.data(), {.batch = 8, .epochs = 1, .listeners = {&looking}});
    EXPECT_TRUE(same_text(world, made.checksum()));
    if (world.size() > 1) {
      EXPECT_EQ(looking.alike, expected_alike);
    }
    return parameters_of(made);
  };
  auto const shared = trained(sharing(), 0);
  EXPECT_LT(largest_difference(shared, trained(parameter_averaging{.every = 100}, 0)), 1e-12);
  threshold_sharing often = sharing();
  often.settings.sync_buffers = 2;
  trained(often, 2);
}

/// Includes the steps that were exchanged densely.
inline void sharing_reports_all_its_exchanges(communicator& world, threshold_sharing how) {
  struct looking final : listener {
    int seen = 0;
    void on_step(training& run, step_report const&) override {
      exchange_times const last = run.last_exchange();
      seen += last.transfer.end > last.transfer.begin;
    }
  } look;
  bright_thirds const examples(6 * 8 * world.size());
  how.settings.warm_up = 4;
  training run = trainer<narrow>(small, world, how, plain_sgd());
  run.fit(examples.data(), {.batch = 8, .epochs = 1, .listeners = {&look}});
  ASSERT_EQ(run.step(), 6);
  auto const number = [&](std::string_view name) {
    for (measurement const& one : run.exchange_report())
      if (one.name == name) return one.value;
    return -1.0;
  };
  double const dense = 4.0 * static_cast<double>(small.parameter_count());
  EXPECT_EQ(number("dense_bytes"), 6 * dense);
  EXPECT_GT(number("message_bytes"), 4 * dense);
  EXPECT_LT(number("message_bytes"), 5 * dense);
  EXPECT_GE(number("sent_elements"), 4.0 * small.parameter_count());
  EXPECT_EQ(number("exchanges"), 6);
  EXPECT_GT(number("encode_seconds"), 0);
  EXPECT_GT(number("apply_seconds"), 0);
  EXPECT_GT(number("transfer_seconds"), 0);
  EXPECT_GT(number("waited_seconds"), 0);
  EXPECT_GE(number("hideable_seconds"), 0);
  EXPECT_GE(number("hidden"), 0);
  EXPECT_LE(number("hidden"), 1);
  EXPECT_GE(look.seen, 4);  // with unbounded staleness, messages of a step may arrive in a later step
}

}  // namespace cohort_test
