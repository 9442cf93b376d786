// SPDX-License-Identifier: Apache-2.0
// needs: onednn
// The moving average of the parameters: training_settings::average_decay.
#include <gtest/gtest.h>
#include <algorithm>
#include <cohort/backend/reference.hpp>
#include <cohort/checkpoint/matching_layers.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/onednn.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/parameter_averaging.hpp>
#include <cohort/strategy/threshold_sharing.hpp>
#include <cohort/strategy/top_k_sharing.hpp>
#include <cohort/training/checkpoints.hpp>
#include <cohort/training/early_stopping_listener.hpp>
#include <cohort/training/load.hpp>
#include <cohort/training/load_parameters.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "bright_thirds.hpp"
#include "parameters_of.hpp"

namespace parameter_average_test {

using namespace cohort;
using cohort_test::bright_thirds;
using cohort_test::parameters_of;

graph const net = graph::build([](builder& b) {
  return b.input({1, 8, 8}) | conv2d{.filters = 4, .kernel = 3} | batch_norm{} | relu{}
         | max_pool{.window = 2} | dense{.units = 3} | softmax_cross_entropy{};
});

training_settings with(double decay, int workers = 1) {
  return {.optimizer = {.rule = nesterov{.learning_rate = 0.05}, .l2 = 1e-3},
          .average_decay = decay,
          .workers = workers};
}

/// Trains, and expects evaluation, prediction and models to use the average that the formula gives.
template <class B>
void expect_average(training_settings const& settings, double tolerance) {
  using T = typename B::scalar;
  bright_thirds const examples(48);
  tensor_view const images(examples.pixels.data(), shape{48, 1, 8, 8}),
      labels(examples.labels.data(), shape{48});
  training run = trainer<B>(net, settings), plain = trainer<B>(net, settings);
  std::vector<double> average;
  for (int step = 0; step < 12; ++step) {
    run.train_on({images.rows(step % 3 * 16, 16), labels.rows(step % 3 * 16, 16)});
    std::vector<T> const w = parameters_of<T>(run);
    average.resize(w.size());
    double const d = std::min(settings.average_decay, step / (step + 1.0));
    for (parameter const& p : run.parameters().table())
      for (auto i = static_cast<std::size_t>(p.first);
           i < static_cast<std::size_t>(p.first + p.spec.dims.elements()); ++i)
        average[i] =
            p.trains() ? d * average[i] + (1 - d) * static_cast<double>(w[i]) : static_cast<double>(w[i]);
  }
  std::string const file = testing::TempDir() + "parameter_average.safetensors";
  std::string const before = run.checksum();
  run.save(file);
  training saved = trainer<B>(net, with(0, settings.workers));
  saved.load(file);
  std::vector<T> const found = parameters_of<T>(saved);
  double moved = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(found[i]), average[i], tolerance) << i;
    moved = std::max(moved, std::abs(average[i] - static_cast<double>(parameters_of<T>(run)[i])));
  }
  EXPECT_GT(moved, 1e-3);
  EXPECT_EQ(run.loss_of({images, labels}), saved.loss_of({images, labels}));
  EXPECT_EQ(run.evaluate(examples.data()).log_loss(), saved.evaluate(examples.data()).log_loss());
  EXPECT_EQ(run.predict(images).values, saved.predict(images).values);
  EXPECT_EQ(run.checksum(), before);
  run.save(file, true);  // contains parameters and average
  training const loaded = load_trained<B>(file);
  EXPECT_EQ(loaded.predict(images).values, saved.predict(images).values);
  training started = trainer<B>(net, with(0, settings.workers));
  load_parameters(started, model_file::open(file));
  EXPECT_EQ(started.predict(images).values, saved.predict(images).values);
  run.train_on({images, labels});
  saved.train_on({images, labels});
  EXPECT_NE(run.predict(images).values, saved.predict(images).values) << "predictions follow the training";
  EXPECT_NE(run.checksum(), saved.checksum()) << "training continues with the parameters";
}

TEST(parameter_average, is_used_by_evaluation_prediction_and_models) {
  for (int workers : {1, 3})
    for (double decay : {0.6, 0.99}) {
      expect_average<reference<double>>(with(decay, workers), 1e-14);
      expect_average<onednn>(with(decay, workers), 1e-6);
    }
  training_settings constrained = with(0.8, 2);
  constrained.optimizer.constraint = constraint::max_norm{0.5};
  expect_average<reference<double>>(constrained, 1e-14);
}

TEST(parameter_average, does_not_change_the_training) {
  bright_thirds const examples(64);
  auto const trained = [&](double decay) {
    training run = trainer<reference<float>>(net, with(decay, 2));
    run.fit(examples.data(), {.batch = 8, .epochs = 2, .validation = examples.data()});
    return run.checksum();
  };
  EXPECT_EQ(trained(0.9), trained(0));
}

TEST(parameter_average, is_the_same_on_all_ranks_and_resumes_with_the_same_bits) {
  bright_thirds const examples(64);
  std::string const folder = testing::TempDir() + "parameter_average_checkpoints";
  training_settings constrained = with(0.9, 2);
  constrained.optimizer.constraint = constraint::max_norm{0.5};
  auto const check = [&](auto const& how, training_settings const& settings) {
    std::filesystem::remove_all(folder);
    std::vector<float> expected[2], resumed[2];
    tensor_view const images(examples.pixels.data(), shape{64, 1, 8, 8});
    launch<threads>(2, [&](communicator& world) {
      auto const rank = static_cast<std::size_t>(world.rank());
      training run = trainer<reference<float>>(net, world, how, settings);
      run.fit(examples.data(), {.batch = 8, .epochs = 1});
      save_checkpoint(run, folder);
      run.fit(examples.data(), {.batch = 8, .epochs = 1});
      expected[rank] = run.predict(images).values;
      training second = trainer<reference<float>>(net, world, how, settings);
      resume(second, folder);
      second.fit(examples.data(), {.batch = 8, .epochs = 1});
      EXPECT_EQ(second.checksum(), run.checksum());
      resumed[rank] = second.predict(images).values;
    });
    EXPECT_EQ(expected[0], expected[1]);
    EXPECT_EQ(resumed[0], expected[0]);
    EXPECT_EQ(resumed[1], expected[1]);
  };
  for (training_settings const& settings : {with(0.9, 2), constrained}) {
    check(allreduce{}, settings);
    check(parameter_averaging{.every = 4}, settings);
    check(threshold_sharing{}, settings);
  }
}

TEST(parameter_average, is_refused_by_strategies_that_replace_updated_parameters) {
  auto const refusal = [](auto const& how, double decay = 0.9) {
    std::string messages[2];
    launch<threads>(2, [&](communicator& world) {
      messages[world.rank()] =
          refusal_of<setting_error>([&] { trainer<reference<float>>(net, world, how, with(decay)); });
    });
    EXPECT_EQ(messages[0], messages[1]);
    return messages[0];
  };
  sharing_settings const updates{.share = share::update};
  sharing_settings const asynchronous{.share = share::update, .max_staleness = unbounded};
  for (std::string const& message :
       {refusal(threshold_sharing{.settings = updates}), refusal(threshold_sharing{.settings = asynchronous}),
        refusal(top_k_sharing{.settings = updates}),
        refusal(parameter_averaging{.average_optimizer_state = false}),
        refusal(parameter_averaging{.outer = outer::diloco{}}),
        refusal(parameter_averaging{.overlap = true})})
    EXPECT_NE(message.find("training_settings::average_decay"), std::string::npos) << message;
  EXPECT_NE(refusal(parameter_averaging{.every = 7, .overlap = true}).find("parameter averaging every 7"),
            std::string::npos);
  EXPECT_EQ(refusal(threshold_sharing{.settings = updates}, 0), "");
}

TEST(parameter_average, begins_anew_with_loaded_parameters) {
  bright_thirds const examples(16);
  tensor_view const images(examples.pixels.data(), shape{16, 1, 8, 8});
  training run = trainer<reference<float>>(net, with(0.9)), other = trainer<reference<float>>(net, with(0));
  run.fit(examples.data(), {.batch = 8, .epochs = 1});
  other.fit(examples.data(), {.batch = 4, .epochs = 1});
  run.load_matching(other);
  EXPECT_EQ(run.predict(images).values, other.predict(images).values);
  std::string const file = testing::TempDir() + "parameter_average_other.safetensors";
  run.fit(examples.data(), {.batch = 8, .epochs = 1});
  other.save(file);
  run.load(file);
  EXPECT_EQ(run.predict(images).values, other.predict(images).values);
}

TEST(parameter_average, is_kept_by_early_stopping) {
  bright_thirds const examples(32), held(16, 2);
  training run = trainer<reference<float>>(net, with(0.8));
  early_stopping_listener stopping(metrics::loss, {.patience = 3, .restore_best = true});
  fit_report const done = run.fit(
      examples.data(), {.batch = 8, .epochs = 6, .validation = held.data(), .listeners = {&stopping}});
  double best = 1e9;
  for (double const loss : done.history["validation loss"]) best = std::min(best, loss);
  EXPECT_NEAR(run.loss_of({tensor_view(held.pixels.data(), shape{16, 1, 8, 8}),
                           tensor_view(held.labels.data(), shape{16})}),
              best, 1e-6);
}

TEST(parameter_average, is_restored_by_early_stopping_on_all_ranks) {
  bright_thirds const examples(32), held(16, 2);
  tensor_view const images(held.pixels.data(), shape{16, 1, 8, 8}), labels(held.labels.data(), shape{16});
  auto const check = [&](auto const& how) {
    std::vector<float> found[2];
    launch<threads>(2, [&](communicator& world) {
      training run = trainer<reference<float>>(net, world, how, with(0.8));
      early_stopping_listener stopping(metrics::loss, {.patience = 3, .restore_best = true, .lines = {}});
      fit_report const done = run.fit(
          examples.data(), {.batch = 4, .epochs = 6, .validation = held.data(), .listeners = {&stopping}});
      double best = 1e9;
      for (double const loss : done.history["validation loss"]) best = std::min(best, loss);
      EXPECT_NEAR(run.loss_of({images, labels}), best, 1e-5);
      found[world.rank()] = run.predict(images).values;
    });
    EXPECT_EQ(found[0], found[1]);
  };
  check(allreduce{});
  check(parameter_averaging{.every = 3});
}

TEST(parameter_average, is_not_resumed_from_a_state_without_one) {
  bright_thirds const examples(16);
  std::string const file = testing::TempDir() + "parameter_average_none.safetensors";
  training run = trainer<reference<float>>(net, with(0)),
           averaging = trainer<reference<float>>(net, with(0.9));
  run.fit(examples.data(), {.batch = 8, .epochs = 1});
  run.save(file, true);
  std::string const text = refusal_of<data_error>([&] { averaging.load(file); });
  EXPECT_NE(text.find("has no moving average"), std::string::npos) << text;
  EXPECT_NE(text.find("average_decay = 0"), std::string::npos) << text;
}

TEST(parameter_average, has_a_decay_below_1) {
  for (double const decay : {-0.1, 1.0})
    EXPECT_NE(refusal_of<setting_error>([&] { trainer<reference<float>>(net, with(decay)); }).find("0.999"),
              std::string::npos);
}

}  // namespace parameter_average_test
