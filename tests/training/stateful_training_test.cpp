// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/continued_crops.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/data/select.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/parameter_averaging.hpp>
#include <cohort/text/token_crops.hpp>
#include <cohort/training/checkpoint_listener.hpp>
#include <cohort/training/checkpoints.hpp>
#include <cohort/training/find_learning_rate.hpp>
#include <cohort/training/trainer.hpp>
#include <cohort/training/training_loop.hpp>
#include <cstdint>
#include <string>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "../checkpoint/scratch_folder.hpp"
#include "parameters_of.hpp"

namespace stateful_training_test {

using namespace cohort;
using cohort_test::parameters_of;
using B = reference<double>;

constexpr int vocabulary = 5;

graph reader(int steps, bool stateful) {
  return graph::build([=](builder& b) {
    return b.input({steps}) | embedding{.vocabulary = vocabulary, .width = 4}
           | lstm{.units = 5, .stateful = stateful} | gru{.units = 4, .stateful = stateful}
           | dense{.units = vocabulary} | softmax_cross_entropy{};
  });
}

token_stream text(int tokens) {
  random_stream const draws(7, "text");
  std::vector<std::int32_t> made;
  for (int i = 0; i < tokens; ++i)
    made.push_back(i % 3 == 0
                       ? static_cast<std::int32_t>(draws.below(static_cast<std::uint64_t>(i), vocabulary))
                       : (made.back() + 1) % vocabulary);
  return token_stream(made);
}
dataset crops(int tokens, int length, bool fixed = true) {
  return token_crops(text(tokens), {.length = length, .vocabulary = vocabulary, .fixed = fixed});
}

/// A rate so small that no parameter changes.
training_settings without_change() { return {.optimizer = {sgd{.learning_rate = 1e-300}}, .seed = 4}; }

/// Losses of each epoch on four rows of crops.
std::vector<double> losses(int length, bool stateful, int epochs) {
  training run = trainer<B>(reader(length, stateful), without_change());
  dataset const data = continued_crops(crops(4 * 12 + 1, length), 4);
  fit_report const report = run.fit(data, {.batch = 4, .epochs = epochs, .shuffle = false});
  EXPECT_EQ(report.steps, 12 / length * epochs);
  std::span<double const> const made = report.history["loss"];
  return {made.begin(), made.end()};
}

TEST(stateful_training, crops_have_the_loss_of_the_whole_sequences_in_every_epoch) {
  double const whole = losses(12, false, 1)[0];
  for (int const length : {1, 3, 4, 6, 12})
    for (double const loss : losses(length, true, 2)) EXPECT_NEAR(loss, whole, 1e-12) << length;
  EXPECT_GT(std::abs(losses(3, false, 1)[0] - whole), 1e-3);
}

/// Steps and rows as the loader delivers them.
TEST(stateful_training, each_row_continues_the_same_row_of_the_previous_batch) {
  dataset const data = continued_crops(crops(48 + 7, 3), 4);
  EXPECT_EQ(data.size(), 16);
  EXPECT_EQ(data.rows_that_continue(), 4);
  token_stream const all = text(48 + 7);
  for (int const rank : {0, 1}) {
    loader batches(data, {.batch = 2, .rank = rank, .ranks = 2, .shuffle = false});
    batches.start(0);
    for (int step = 0; step < 4; ++step) {
      batch const* const next = batches.next();
      ASSERT_EQ(next->count, 2);
      for (int row = 0; row < 2; ++row) {
        std::vector<std::int32_t> wanted(3);
        all.copy((2 * rank + row) * 12 + step * 3, wanted);
        auto const* const got = next->input().as<std::int32_t>().data() + 3 * row;
        EXPECT_EQ(std::vector<std::int32_t>(got, got + 3), wanted);
      }
    }
    EXPECT_EQ(batches.next(), nullptr);
  }
}

/// Parameters after two epochs with an optimizer that has state.
std::vector<double> trained(int ranks, int workers, int accumulate, int batch) {
  std::vector<double> made;
  launch<threads>(ranks, [&](communicator& world) {
    training run = trainer<B>(reader(4, true), world, allreduce{},
                              {.optimizer = {adam{.learning_rate = 0.02}}, .seed = 5, .workers = workers});
    run.fit(continued_crops(crops(200, 4, false), 6),
            {.batch = batch, .epochs = 2, .shuffle = false, .accumulate = accumulate});
    if (world.rank() == 0) made = parameters_of(run);
  });
  return made;
}

void expect_near(std::vector<double> const& got, std::vector<double> const& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-9) << i;
}

TEST(stateful_training, trains_equally_over_ranks_workers_and_micro_batches) {
  std::vector<double> const one = trained(1, 1, 1, 6);
  EXPECT_EQ(trained(1, 1, 1, 6), one);
  expect_near(trained(1, 4, 1, 6), one);
  expect_near(trained(1, 1, 4, 6), one);
  expect_near(trained(2, 2, 1, 3), one);
  expect_near(trained(3, 1, 2, 2), one);
}

TEST(stateful_training, trains_on_rank_local_texts_of_different_lengths) {
  launch<threads>(2, [&](communicator& world) {
    training run = trainer<B>(reader(4, true), world, parameter_averaging{.every = 3}, {.seed = 5});
    fit_report const report =
        run.fit(continued_crops(crops(world.rank() == 0 ? 200 : 120, 4), 3),
                {.batch = 3, .epochs = 2, .shuffle = false, .sharding = sharding::local});
    EXPECT_GT(report.examples, 0);
  });
}

TEST(stateful_training, single_steps_are_bitwise_equal_to_fit) {
  dataset const data = continued_crops(crops(100, 4), 3);
  training_settings const how{.optimizer = {adam{.learning_rate = 0.02}}, .seed = 5};
  training by_fit = trainer<B>(reader(4, true), how), by_steps = trainer<B>(reader(4, true), how);
  by_fit.fit(data, {.batch = 3, .epochs = 2, .shuffle = false});
  loader batches(data, {.batch = 3, .seed = 5, .shuffle = false});
  for (int epoch = 0; epoch < 2; ++epoch) {
    batches.start(epoch);
    while (batch const* const next = batches.next()) by_steps.train_on(*next);
    by_steps.end_epoch();
  }
  EXPECT_EQ(by_steps.checksum(), by_fit.checksum());
  batches.start(2);
  batch_view const first = *batches.next();
  by_steps.train_on(first);
  EXPECT_EQ(refusal_of<setting_error>([&] { by_steps.train_on(first.rows(0, 2)); }),
            "a stateful layer got batches of different sizes within an epoch (train_on, layer lstm_1): "
            "expected 3 examples, or end_epoch before this batch, got 2");
  by_steps.end_epoch();
  by_steps.train_on(first.rows(0, 2));
}

/// Ends fit after some steps, as if the process had ended.
struct stop_after final : listener {
  int left;
  explicit stop_after(int steps) : left(steps) {}
  void on_step(training& run, step_report const&) override {
    if (--left == 0) run.request({.stop = true});
  }
};

TEST(stateful_training, resumed_within_an_epoch_is_bitwise_equal_to_an_uninterrupted_run) {
  dataset const data = continued_crops(crops(200, 4, false), 6);
  for (int const ranks : {1, 2})
    for (int const steps : {3, 8, 11}) {
      fit_settings const how{.batch = 6 / ranks, .epochs = 2, .shuffle = false};
      scratch_folder const folder;
      auto const make = [](communicator& world) {
        return trainer<B>(reader(4, true), world, allreduce{},
                          {.optimizer = {adam{.learning_rate = 0.02}}, .seed = 5});
      };
      std::string uninterrupted;
      launch<threads>(ranks, [&](communicator& world) {
        training run = make(world);
        run.fit(data, how);
        if (world.rank() == 0) uninterrupted = run.checksum();
      });
      launch<threads>(ranks, [&](communicator& world) {
        training run = make(world);
        stop_after stopping(steps);
        checkpoint_listener saving(folder.path(), 1, 2, {});
        fit_settings stopped = how;
        stopped.listeners = {&saving, &stopping};
        run.fit(data, stopped);
        fit_settings rest = how;  // within the same process
        rest.epochs = how.epochs - static_cast<int>(run.epoch());
        run.fit(data, rest);
        EXPECT_EQ(run.checksum(), uninterrupted);
      });
      launch<threads>(ranks, [&](communicator& world) {
        training run = make(world);
        ASSERT_TRUE(resume(run, folder.path()).has_value());
        EXPECT_EQ(run.step(),
                  steps == 8 ? 8 : steps + 1);  // a vote takes effect in the next step of an epoch
        fit_settings rest = how;
        rest.epochs = how.epochs - static_cast<int>(run.epoch());
        run.fit(data, rest);
        EXPECT_EQ(run.checksum(), uninterrupted) << steps;
      });
    }
}

TEST(stateful_training, an_interrupted_epoch_needs_the_same_number_of_ranks) {
  dataset const data = continued_crops(crops(200, 4), 6);
  scratch_folder const folder;
  training run = trainer<B>(reader(4, true), {.seed = 5});
  stop_after stopping(3);
  run.fit(data, {.batch = 6, .shuffle = false, .listeners = {&stopping}});
  save_checkpoint(run, folder.path());
  launch<threads>(2, [&](communicator& world) {
    training other = trainer<B>(reader(4, true), world, allreduce{}, {.seed = 5});
    ASSERT_TRUE(resume(other, folder.path()).has_value());
    EXPECT_EQ(
        refusal_of<setting_error>([&] { other.fit(data, {.batch = 3, .shuffle = false}); }),
        "an interrupted epoch cannot continue, because the states of its stateful layers are unknown (fit, "
        "epoch 1): expected a checkpoint written by the same number of ranks, or training::end_epoch, "
        "which ends the epoch, got step 4, position 24");
    other.end_epoch();
    other.fit(data, {.batch = 3, .shuffle = false});
  });
}

TEST(stateful_training, refuses_batches_that_do_not_continue_each_other) {
  training run = trainer<B>(reader(4, true));
  auto const refused = [&](dataset const& data, fit_settings const& how) {
    return refusal_of<setting_error>([&] { run.fit(data, how); });
  };
  auto const text = [](std::string const& got) {
    return "the batches of a stateful layer do not continue the rows of the batch before (fit, layer "
           "lstm_1): "
           "expected continued_crops(crops, 3), one row for each example of a step on all ranks, with "
           ".shuffle = "
           "false, got "
           + got;
  };
  dataset const data = continued_crops(crops(100, 4), 3);
  EXPECT_EQ(refused(crops(100, 4), {.batch = 3, .shuffle = false}), text("another data set"));
  EXPECT_EQ(refused(select(data, 0, 9), {.batch = 3, .shuffle = false}), text("another data set"));
  EXPECT_EQ(refused(continued_crops(crops(100, 4), 4), {.batch = 3, .shuffle = false}),
            text("continued_crops of 4 rows"));
  EXPECT_EQ(refused(data, {.batch = 3}), text(".shuffle = true"));
  EXPECT_EQ(refused(data, {.batch = 3, .shuffle = false, .bucket = 6}), text(".bucket = 6"));
  EXPECT_EQ(run.step(), 0);
}

TEST(stateful_training, refuses_calls_that_do_not_carry_states) {
  training run = trainer<B>(reader(4, true));
  dataset const data = continued_crops(crops(100, 4), 3);
  EXPECT_EQ(refusal_of<setting_error>([&] { find_learning_rate(run, data, {.batch = 3}); }),
            "this call does not support stateful layers (find_learning_rate, layer lstm_1): expected fit or "
            "train_on, or a "
            "layer without .stateful, got .stateful = true");
  training_loop loop(run);
  loader batches(data, {.batch = 3, .shuffle = false});
  batches.start(0);
  EXPECT_EQ(refusal_of<setting_error>([&] { loop.forward(*batches.next()); }),
            "this call does not support stateful layers (training_loop, layer lstm_1): "
            "expected fit or train_on, or a layer without .stateful, got .stateful = true");
}

/// Evaluation and prediction begin each example with zeros, and do not disturb the training's states.
TEST(stateful_training, evaluation_does_not_change_the_states) {
  dataset const data = continued_crops(crops(100, 4), 3);
  training one = trainer<B>(reader(4, true), {.seed = 5}), other = trainer<B>(reader(4, true), {.seed = 5});
  loader batches(data, {.batch = 3, .seed = 5, .shuffle = false});
  batches.start(0);
  while (batch const* const next = batches.next()) {
    one.train_on(*next);
    other.train_on(*next);
    double const loss = other.loss_of(*next);
    EXPECT_EQ(other.loss_of(*next), loss);
  }
  EXPECT_EQ(one.checksum(), other.checksum());
}

}  // namespace stateful_training_test
