// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <algorithm>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/parameter_averaging.hpp>
#include <cohort/training/checkpoint_listener.hpp>
#include <cohort/training/checkpoints.hpp>
#include <cohort/training/early_stopping_listener.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "../checkpoint/scratch_folder.hpp"
#include "bright_thirds.hpp"

namespace early_stopping_listener_test {

using namespace cohort;
using cohort_test::bright_thirds;
using cohort_test::small;
using narrow = reference<float>;
using texts = std::vector<std::string>;

struct recorded {
  texts lines{};
  sink to() {
    return [this](std::string_view line) { lines.emplace_back(line); };
  }
};

/// A metric that returns these numbers, one per epoch.
metric told(std::vector<double> numbers, bool more_is_better = true) {
  return {.name = "score",
          .of = [numbers = std::move(numbers)](
                    training& run) { return numbers.at(static_cast<std::size_t>(run.epoch()) - 1); },
          .more_is_better = more_is_better};
}

/// A run of 3 steps per epoch.
fit_report trained(training& run, listener& one, int epochs) {
  bright_thirds const examples(24);
  return run.fit(examples.data(), {.batch = 8, .epochs = epochs, .listeners = {&one}});
}

TEST(early_stopping, stops_the_run_after_a_period_without_improvement) {
  recorded said;
  std::vector<std::int64_t> best;
  early_stopping_listener stopping(
      told({0.5, 0.625, 0.625, 0.5, 0.75, 0.75, 0.25, 0.5}),
      {.patience = 3, .on_best = [&](training& run) { best.push_back(run.epoch()); }, .lines = said.to()});
  training run = trainer<narrow>(small);
  fit_report const report = trained(run, stopping, 50);
  EXPECT_TRUE(report.stopped);
  EXPECT_EQ(run.epoch(), 8);
  EXPECT_EQ(run.step(), 8 * 3) << "no step of the next epoch";
  EXPECT_EQ(stopping.best(), 0.75);
  EXPECT_EQ(stopping.best_epoch(), 5);
  EXPECT_EQ(best, (std::vector<std::int64_t>{1, 2, 5}));
  ASSERT_EQ(said.lines.size(), 8U);
  EXPECT_EQ(said.lines[4], "epoch 5: score 0.7500, the best so far");
  EXPECT_EQ(said.lines[5], "epoch 6: score 0.7500, not better than 0.7500 after epoch 5");
  EXPECT_EQ(said.lines[7], "epoch 8: score 0.5000, not better than 0.7500 after epoch 5: stopping");
}

TEST(early_stopping, requires_an_improvement_of_more_than_the_minimum_delta) {
  early_stopping_listener stopping(told({1.0, 0.95, 0.85, 0.8, 0.8}, false),
                                   {.patience = 2, .minimum_delta = 0.1, .lines = {}});
  training run = trainer<narrow>(small);
  EXPECT_TRUE(trained(run, stopping, 50).stopped);
  EXPECT_EQ(run.epoch(), 5);
  EXPECT_EQ(stopping.best(), 0.85);
}

TEST(early_stopping, evaluates_every_n_epochs) {
  early_stopping_listener stopping(told({9, 1, 9, 2, 9, 2}), {.patience = 1, .every = 2, .lines = {}});
  training run = trainer<narrow>(small);
  EXPECT_TRUE(trained(run, stopping, 50).stopped);
  EXPECT_EQ(run.epoch(), 6);
  EXPECT_EQ(stopping.best(), 2);
}

TEST(early_stopping, treats_nan_as_no_improvement) {
  double const none = std::nan("");
  early_stopping_listener stopping(told({none, 1, none, none}), {.patience = 2, .lines = {}});
  training run = trainer<narrow>(small);
  EXPECT_TRUE(trained(run, stopping, 50).stopped);
  EXPECT_EQ(run.epoch(), 4);
  EXPECT_EQ(stopping.best(), 1);
  EXPECT_EQ(stopping.best_epoch(), 2);
}

TEST(early_stopping, restarts_the_count_in_a_further_fit_after_a_stop) {
  early_stopping_listener stopping(told({3, 2, 2, 1, 1, 1, 1, 4}), {.patience = 2, .lines = {}});
  training run = trainer<narrow>(small);
  EXPECT_FALSE(trained(run, stopping, 2).stopped);
  EXPECT_TRUE(trained(run, stopping, 2).stopped) << "epoch 3 was the second without improvement";
  EXPECT_EQ(run.epoch(), 3);
  EXPECT_FALSE(trained(run, stopping, 2).stopped) << "epoch 5 was the second again, but also the last";
  EXPECT_EQ(run.epoch(), 5);
  EXPECT_EQ(stopping.best(), 3);
  EXPECT_FALSE(trained(run, stopping, 1).stopped) << "a further fit counts anew";
  EXPECT_EQ(run.step(), 6 * 3);
}

TEST(early_stopping, stops_all_ranks_before_the_next_epoch) {
  bright_thirds const examples(24);
  auto const stopped_at = [&](auto how, bool only_rank_1) {
    std::vector<std::int64_t> steps(2);
    launch<threads>(2, [&](communicator& world) {
      struct requesting final : listener {
        bool active;
        explicit requesting(bool a) : active(a) {}
        void on_epoch(training& run, epoch_report const& done) override {
          if (active && done.epoch == 1) run.request({.stop = true});
        }
      } requests(!only_rank_1 || world.rank() == 1);
      training run = trainer<narrow>(small, world, how);
      fit_report const report = run.fit(examples.data(), {.batch = 4, .epochs = 9, .listeners = {&requests}});
      EXPECT_TRUE(report.stopped);
      EXPECT_EQ(report.history.size(), 2U);
      steps[static_cast<std::size_t>(world.rank())] = run.step();
    });
    return steps;
  };
  std::vector<std::int64_t> const two_epochs{6, 6};
  for (bool const only_rank_1 : {false, true}) {
    EXPECT_EQ(stopped_at(allreduce{}, only_rank_1), two_epochs);
    EXPECT_EQ(stopped_at(parameter_averaging{.every = 2}, only_rank_1), two_epochs);
  }
}

TEST(early_stopping, continues_counting_in_a_resumed_run) {
  std::vector<double> const scores{3, 2, 1, 1.5, 2.5, 1};
  for (int saver_first : {0, 1}) {
    scratch_folder const folder;
    {
      early_stopping_listener stopping(told(scores), {.patience = 4, .lines = {}});
      checkpoint_listener saving(folder.path(), 0, 3, silent_sink());
      struct terminated final : listener {
        void on_epoch(training& run, epoch_report const& done) override {
          if (done.epoch == 2) run.request({.stop = true});
        }
      } signal;
      training run = trainer<narrow>(small);
      bright_thirds const examples(24);
      std::vector<listener*> listeners{&stopping, &saving, &signal};
      if (saver_first == 1) std::swap(listeners[0], listeners[1]);
      EXPECT_TRUE(run.fit(examples.data(), {.batch = 8, .epochs = 50, .listeners = listeners}).stopped);
      EXPECT_EQ(run.epoch(), 3);
    }
    early_stopping_listener stopping(told(scores), {.patience = 4, .lines = {}});
    training run = trainer<narrow>(small);
    ASSERT_TRUE(resume(run, folder.path()));
    EXPECT_TRUE(trained(run, stopping, 50).stopped);
    EXPECT_EQ(run.epoch(), 5) << "two looks before the stop, two after it";
    EXPECT_EQ(stopping.best(), 3);
    EXPECT_EQ(stopping.best_epoch(), 1);
  }
}

TEST(early_stopping, keeps_its_restored_state_if_fit_is_refused) {
  scratch_folder const folder;
  bright_thirds const examples(24), held(12, 2);
  fit_settings how{.batch = 8, .epochs = 2, .validation = held.data()};
  {
    early_stopping_listener stopping(metrics::loss, {.lines = {}});
    checkpoint_listener saving(folder.path(), 4, 3, silent_sink());
    how.listeners = {&stopping, &saving};
    training run = trainer<narrow>(small);
    run.fit(examples.data(), how);  // a checkpoint in the second epoch
  }
  training run = trainer<narrow>(small);
  ASSERT_TRUE(resume(run, folder.path()));
  early_stopping_listener stopping(metrics::loss, {.lines = {}});
  how = {.batch = 8, .epochs = 0, .listeners = {&stopping}};
  EXPECT_THROW(run.fit(examples.data(), how), setting_error) << "without validation data";
  EXPECT_FALSE(stopping.best());
  how.validation = held.data();
  run.fit(examples.data(), how);
  EXPECT_TRUE(stopping.best());
}

TEST(early_stopping, refuses_an_invalid_state) {
  early_stopping_listener stopping(told({}), {.lines = {}});
  EXPECT_EQ(stopping.state(), "-1 0");
  stopping.restore("7 2 -0.125");
  EXPECT_EQ(stopping.state(), "7 2 -0.125");
  for (char const* text :
       {"", "7", "7 2", "-1 0 1", "7 -1 1", "7 2 x", "7 2 1 1", "7,2 1", "99999999999999999999 2 1"})
    EXPECT_THROW(stopping.restore(text), data_error) << text;
  EXPECT_EQ(stopping.state(), "7 2 -0.125");
  stopping.restore("7 0 2; 8 1 0 4 3 1.5");
  EXPECT_EQ(stopping.state(), "7 0 2; 8 1 0 4 3 1.5");
  for (char const* text : {"7 0 2; ", "7 0 2; 6 1 0 4 3 1.5", "7 0 2; 8 2 0 4 3 1.5", "7 0 2; 8 -1 0 4 3 1.5",
                           "7 0 2; 8 1 0 4", "7 0 2; 8 1 0 4 3 1.5;", "7 0 2; 8 1 0 4 3 1.5 1"})
    EXPECT_THROW(stopping.restore(text), data_error) << text;
}

/// Records the checksum after each epoch and, like a metric, scores the epochs.
struct checksums final : listener {
  std::vector<std::string> after;
  void on_epoch(training& run, epoch_report const&) override { after.push_back(run.checksum()); }
};

TEST(early_stopping, restores_the_best_parameters_bitwise) {
  bright_thirds const examples(24);
  for (int epochs : {50, 4}) {  // ended by a stop, and by the last epoch
    early_stopping_listener stopping(told({1, 3, 2, 2, 2, 2}),
                                     {.patience = 3, .restore_best = true, .lines = {}});
    checksums seen;
    training run = trainer<narrow>(small, {.optimizer = {adam{.learning_rate = 0.01}}});
    fit_report const report =
        run.fit(examples.data(), {.batch = 8, .epochs = epochs, .listeners = {&stopping, &seen}});
    EXPECT_EQ(report.stopped, epochs == 50);
    EXPECT_EQ(run.checksum(), seen.after.at(1));
    EXPECT_NE(run.checksum(), seen.after.back());
    EXPECT_EQ(run.epoch(), epochs == 50 ? 5 : 4) << "the position is that of the last step";
  }
}

TEST(early_stopping, restores_no_parameters_by_default) {
  early_stopping_listener stopping(told({1, 3, 2, 2}), {.patience = 9, .lines = {}});
  checksums seen;
  bright_thirds const examples(24);
  training run = trainer<narrow>(small);
  run.fit(examples.data(), {.batch = 8, .epochs = 4, .listeners = {&stopping, &seen}});
  EXPECT_EQ(run.checksum(), seen.after.back());
}

TEST(early_stopping, restores_the_best_parameters_in_a_resumed_run) {
  std::vector<double> const scores{1, 3, 2, 1.5, 2.5, 1};
  for (int ranks : {1, 2}) {
    scratch_folder const folder;
    std::string best;
    launch<threads>(2, [&](communicator& world) {
      early_stopping_listener stopping(told(scores), {.patience = 4, .restore_best = true, .lines = {}});
      checkpoint_listener saving(folder.path(), 0, 3, silent_sink());
      checksums seen;
      struct terminated final : listener {
        void on_epoch(training& run, epoch_report const& done) override {
          if (done.epoch == 2) run.request({.stop = true});
        }
      } signal;
      training run = trainer<narrow>(small, world, allreduce{});
      bright_thirds const examples(24);
      run.fit(examples.data(), {.batch = 4, .epochs = 50, .listeners = {&stopping, &seen, &saving, &signal}});
      if (world.rank() == 0) best = seen.after.at(1);
      EXPECT_EQ(run.checksum(), seen.after.at(1));
    });
    launch<threads>(ranks, [&](communicator& world) {
      early_stopping_listener stopping(told(scores), {.patience = 4, .restore_best = true, .lines = {}});
      training run = trainer<narrow>(small, world, allreduce{});
      ASSERT_TRUE(resume(run, folder.path()));
      EXPECT_NE(run.checksum(), best) << "the checkpoint has the last parameters too";
      bright_thirds const examples(24);
      EXPECT_TRUE(run.fit(examples.data(), {.batch = 4, .epochs = 50, .listeners = {&stopping}}).stopped);
      EXPECT_EQ(run.epoch(), 6);
      EXPECT_EQ(run.checksum(), best);
    });
  }
}

TEST(early_stopping, uses_the_validation_metrics_that_fit_computes) {
  bright_thirds const examples(60), held(30, 2);
  early_stopping_listener by_loss(metrics::loss, {.patience = 50, .lines = {}}),
      by_accuracy(metrics::accuracy, {.patience = 50, .lines = {}});
  training run = trainer<narrow>(small, {.optimizer = {nesterov{.learning_rate = 0.05, .momentum = 0.9}}});
  fit_settings how{.batch = 10,
                   .epochs = 5,
                   .validation = held.data(),
                   .metrics = {metrics::accuracy},
                   .listeners = {&by_loss, &by_accuracy}};
  fit_history const history = run.fit(examples.data(), how).history;
  EXPECT_EQ(by_loss.best(), std::ranges::min(history["validation loss"]));
  EXPECT_EQ(by_accuracy.best(), std::ranges::max(history["accuracy"]));
  how.metrics = {};
  std::int64_t const step = run.step();
  EXPECT_EQ(
      refusal_of<setting_error>([&] { run.fit(examples.data(), how); }),
      "fit does not compute the metric of the early stopping (early stopping by accuracy): expected fit "
      "with .validation = data and .metrics = {accuracy}, or a metric with its own data: .on(data), got "
      "validation loss");
  how.listeners = {&by_loss};
  how.validation = {};
  EXPECT_EQ(
      refusal_of<setting_error>([&] { run.fit(examples.data(), how); }),
      "fit does not compute the metric of the early stopping (early stopping by validation loss): expected "
      "fit with .validation = data, or a metric with its own data: .on(data), got no validation data");
  EXPECT_EQ(run.step(), step) << "refused before the first step";
}

template <class Strategy>
void expect_ranks_to_stop_alike(Strategy const& how) {
  bright_thirds const examples(120), held(30, 2);
  std::vector<std::int64_t> steps(3), epochs(3);
  std::vector<double> best(3);
  launch<threads>(3, [&](communicator& world) {
    auto const rank = static_cast<std::size_t>(world.rank());
    training run =
        trainer<narrow>(small, world, how, {.optimizer = {nesterov{.learning_rate = 0.05, .momentum = 0.9}}});
    early_stopping_listener stopping(metrics::log_loss.on(held.data()),
                                     {.patience = 2, .minimum_delta = 0.02, .lines = {}});
    EXPECT_TRUE(run.fit(examples.data(), {.batch = 5, .epochs = 200, .listeners = {&stopping}}).stopped);
    steps[rank] = run.step();
    epochs[rank] = run.epoch();
    best[rank] = stopping.best().value();
  });
  EXPECT_EQ(steps, std::vector<std::int64_t>(3, steps[0]));
  EXPECT_EQ(epochs, std::vector<std::int64_t>(3, epochs[0]));
  EXPECT_EQ(best, std::vector<double>(3, best[0])) << "the same bits";
  EXPECT_LT(best[0], 0.5);
  EXPECT_LT(epochs[0], 200);
}

TEST(early_stopping, stops_all_ranks_in_the_same_step) {
  expect_ranks_to_stop_alike(allreduce{});
  expect_ranks_to_stop_alike(parameter_averaging{.every = 3});
}

/// One listener is used for several runs, as in a cross-validation with several folds.
TEST(early_stopping, restarts_the_count_in_another_run) {
  bright_thirds const examples(24);
  recorded said;
  std::vector<double> scores{9, 1, 1};
  early_stopping_listener stopping(
      {.name = "score",
       .of = [&](training& run) { return scores.at(static_cast<std::size_t>(run.epoch()) - 1); }},
      {.patience = 2, .restore_best = true, .lines = said.to()});
  for (int folds = 0; folds < 3; ++folds) {
    training run = trainer<narrow>(small, {.seed = static_cast<std::uint64_t>(folds)});
    checksums seen;
    run.fit(examples.data(), {.batch = 8, .epochs = 3, .listeners = {&stopping, &seen}});
    EXPECT_EQ(stopping.best_epoch(), folds == 0 ? 1 : 2);
    EXPECT_EQ(stopping.best(), folds == 0 ? 9 : 3);
    EXPECT_EQ(run.checksum(), seen.after.at(folds == 0 ? 0 : 1)) << "not those of an earlier fold";
    scores = {2, 3, 1};
  }
  training run = trainer<narrow>(small);
  std::string const before = run.checksum();
  run.fit(examples.data(), {.batch = 8, .epochs = 0, .listeners = {&stopping}});
  EXPECT_EQ(run.checksum(), before) << "without an epoch";
}

TEST(early_stopping, refuses_a_metric_that_differs_between_ranks) {
  bright_thirds const examples(24);
  launch<threads>(2, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    early_stopping_listener stopping(
        {.name = "score", .of = [](training& of) { return 0.5 + of.world().rank(); }}, {.lines = {}});
    training run = trainer<narrow>(small, world, allreduce{});
    EXPECT_EQ(
        refusal_of<setting_error>([&] { run.fit(examples.data(), {.batch = 4, .listeners = {&stopping}}); }),
        "the metric differs between the ranks (early stopping by score): expected a function that "
        "returns the same number on every rank, for example the mean of all ranks, got 0.5 on rank 0; "
        "1.5 on rank 1");
    training other = trainer<narrow>(small, world, allreduce{});
    fit_settings how{.batch = 4};
    if (world.rank() == 1) how.listeners = {&stopping};
    EXPECT_EQ(
        refusal_of<setting_error>([&] { other.fit(examples.data(), how); }),
        "the ranks of this run differ (listeners): expected the same value on every rank, got "
        "listeners: nothing on rank 0; early stopping by score (every 1, patience 5, minimum delta 0) on "
        "rank 1");
  });
}

TEST(early_stopping, refuses_ranks_with_different_settings) {
  bright_thirds const examples(24);
  launch<threads>(2, {.deadline = std::chrono::seconds(20)}, [&](communicator& world) {
    auto const expect_refused = [&](metric const& judge, early_stopping_settings how, char const* settings) {
      early_stopping_listener usual(judge, {.lines = {}}), odd(judge, std::move(how));
      training run = trainer<narrow>(small, world, allreduce{});
      std::string const by = "early stopping by " + judge.name;
      EXPECT_EQ(refusal_of<setting_error>([&] {
                  run.fit(examples.data(), {.batch = 4,
                                            .epochs = 3,
                                            .validation = examples.data(),
                                            .listeners = {world.rank() == 1 ? &odd : &usual}});
                }),
                "the ranks of this run differ (listeners): expected the same value on every rank, got "
                "listeners: "
                    + by + " (every 1, patience 5, minimum delta 0) on rank 0; " + by + settings
                    + " on rank 1");
      EXPECT_EQ(run.step(), 0);
    };
    metric const score{.name = "score (mean)", .of = [](training&) { return 0.5; }};
    expect_refused(score, {.every = 2, .lines = {}}, " (every 2, patience 5, minimum delta 0)");
    expect_refused(metrics::loss, {.every = 2, .lines = {}}, " (every 2, patience 5, minimum delta 0)");
    expect_refused(metrics::loss, {.patience = 4, .lines = {}}, " (every 1, patience 4, minimum delta 0)");
    expect_refused(metrics::loss, {.minimum_delta = 0.5, .lines = {}},
                   " (every 1, patience 5, minimum delta 0.5)");
    expect_refused(metrics::loss, {.restore_best = true, .lines = {}},
                   " (every 1, patience 5, minimum delta 0, restore best)");
  });
}

TEST(early_stopping, continues_a_resumed_run_with_another_patience) {
  bright_thirds const examples(24);
  scratch_folder const folder;
  training first = trainer<narrow>(small);
  early_stopping_listener stopping(told({3, 2, 2, 2}), {.patience = 3, .lines = {}});
  checkpoint_listener saving(folder.path(), 3);
  first.fit(examples.data(), {.batch = 8, .epochs = 3, .listeners = {&stopping, &saving}});
  training second = trainer<narrow>(small);
  ASSERT_TRUE(resume(second, folder.path()));
  early_stopping_listener patient(told({2, 2, 2, 2, 2, 2}), {.patience = 4, .lines = {}});
  EXPECT_FALSE(trained(second, patient, 2).stopped);
  EXPECT_EQ(patient.best(), 3);
  EXPECT_EQ(patient.best_epoch(), 1);
}

TEST(early_stopping, refuses_invalid_settings) {
  auto const refused = [](metric judge, early_stopping_settings how) {
    return refusal_of<setting_error>([&] { early_stopping_listener(std::move(judge), std::move(how)); });
  };
  EXPECT_EQ(refused(told({}), {.patience = 0}),
            "invalid early-stopping settings (early_stopping_listener): expected a metric, patience ≥ 1, "
            "every ≥ 1 "
            "epoch, minimum_delta ≥ 0, got score, patience 0, every 1, minimum_delta 0");
  EXPECT_NE(refused(told({}), {.every = 0}), "");
  EXPECT_NE(refused(told({}), {.minimum_delta = -1}), "");
  EXPECT_NE(refused({}, {}).find("got no metric"), std::string::npos);
}

}  // namespace early_stopping_listener_test
