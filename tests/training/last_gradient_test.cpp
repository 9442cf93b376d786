// SPDX-License-Identifier: Apache-2.0
// label: slow
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cohort/training/training_loop.hpp>
#include <string>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "own_loops.hpp"

namespace last_gradient_test {

using namespace cohort_test;
using numbers = std::vector<double>;

/// Appends run.last_gradient of all trained parameters after each step.
struct gradient_listener final : listener {
  std::vector<numbers> steps{};
  void on_step(training& run, step_report const& done) override {
    steps.emplace_back();
    if (!done.updated) return;
    for (parameter const& one : run.parameters().table())
      if (one.trains())
        for (double const g : run.last_gradient(one.name)) steps.back().push_back(g);
  }
};

/// The gradients of all steps of rank 0, from fit and from a training_loop.
struct gradients {
  std::vector<numbers> of_fit{}, of_loop{};
};

template <class Strategy>
gradients gradients_of(graph const& net, int ranks, Strategy const& how, int workers, int accumulate = 1) {
  bright_thirds const examples(35);
  training_settings const settings{.optimizer = {.rule = adam{.learning_rate = 0.01},
                                                 .l2 = 1e-3,
                                                 .normalisation = normalise::clip_global_norm{0.1}},
                                   .workers = workers};
  gradients all;
  launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    gradient_listener seen;
    training fitted = trainer<reference<float>>(net, world, how, settings);
    fitted.fit(examples.data(), {.batch = 8, .epochs = 2, .accumulate = accumulate, .listeners = {&seen}});
    std::vector<numbers> looped;
    training run = trainer<reference<float>>(net, world, how, settings);
    training_loop loop(run);
    for_each_batch(run, examples.data(), 8, 2, [&](batch const& next) {
      loop.forward(next);
      loop.backward();
      looped.emplace_back();
      for (parameter const& one : run.parameters().table())
        if (one.trains())
          for (float const g : loop.gradient(one.name)) looped.back().push_back(static_cast<double>(g));
      if (!loop.step().updated) looped.back().clear();
    });
    if (world.rank() == 0) all = {std::move(seen.steps), std::move(looped)};
  });
  return all;
}

void expect_near(gradients const& all, double largest) {
  ASSERT_EQ(all.of_fit.size(), all.of_loop.size());
  std::size_t updates = 0;
  for (std::size_t s = 0; s < all.of_fit.size(); ++s) {
    ASSERT_EQ(all.of_fit[s].size(), all.of_loop[s].size());
    if (all.of_fit[s].empty()) continue;
    ++updates;
    EXPECT_GT(std::ranges::max(all.of_fit[s]), 0) << s;
    for (std::size_t i = 0; i < all.of_fit[s].size(); ++i)
      ASSERT_NEAR(all.of_fit[s][i], all.of_loop[s][i], largest) << s << ' ' << i;
  }
  EXPECT_GE(updates, 2U);  // the first updates of a strategy with staleness come later
}

TEST(last_gradient, equals_the_gradient_of_a_training_loop) {
  int kind = 0;
  for_every_strategy([&](auto const& how) {
    ++kind;
    for (int ranks : {1, 2})
      for (int workers : {1, 3}) {
        SCOPED_TRACE(testing::Message()
                     << "strategy " << kind << ", ranks " << ranks << ", workers " << workers);
        expect_near(gradients_of(with_everything, ranks, how, workers), 1e-6);
      }
  });
}

TEST(last_gradient, includes_all_micro_batches) {
  expect_near(gradients_of(small, 1, no_exchange(), 2, 3), 1e-5);
}

TEST(last_gradient, of_a_layer_contains_all_parameters) {
  bright_thirds const examples(8);
  training run = trainer<reference<double>>(small);
  run.fit(examples.data(), {.batch = 8, .epochs = 1});
  numbers both = run.last_gradient("dense_2.weights");
  numbers const bias = run.last_gradient("dense_2.bias");
  EXPECT_EQ(both.size(), 30U);
  EXPECT_EQ(bias.size(), 3U);
  both.insert(both.end(), bias.begin(), bias.end());
  EXPECT_EQ(run.last_gradient("dense_2"), both);
}

TEST(last_gradient, does_not_change_the_run) {
  bright_thirds const examples(103);
  for (int workers : {1, 3}) {
    auto const trained = [&](std::vector<listener*> listeners) {
      return checksums_of(
          2, allreduce{.overlap_next_forward = true}, {.workers = workers}, [&](training& run) {
            run.fit(examples.data(),
                    {.batch = 8,
                     .epochs = 2,
                     .listeners = run.world().rank() == 0 ? listeners : std::vector<listener*>()});
          });
    };
    gradient_listener seen;
    EXPECT_EQ(trained({&seen}), trained({}));
    EXPECT_EQ(seen.steps.size(), 14U);
  }
}

constexpr auto dotted = network<[](builder& net) {
  return net.input({1, 8, 8}) | dense{.units = 5, .name = "a"} | dense{.units = 3, .name = "a.weights"}
         | softmax_cross_entropy{};
}>();

TEST(last_gradient, distinguishes_a_parameter_from_a_layer_of_the_same_name) {
  bright_thirds const examples(8);
  training run = trainer<reference<float>>(dotted);
  run.fit(examples.data(), {.batch = 8, .epochs = 1});
  EXPECT_EQ(run.last_gradient("a.weights").size(), 320U);
  EXPECT_EQ(run.last_gradient("a").size(), 325U);
  EXPECT_EQ(run.last_gradient("a.weights.weights").size(), 15U);
}

TEST(last_gradient, reports_known_parameters_and_refuses_calls_before_the_first_step) {
  training run = trainer<reference<float>>(small);
  EXPECT_EQ(refusal_of<setting_error>([&] { (void)run.last_gradient("dense_3"); }),
            "the network has no parameter and no layer with parameters of this name "
            "(training::last_gradient): expected one of conv2d_1.weights, conv2d_1.bias, dense_1.weights, "
            "dense_1.bias, dense_2.weights, dense_2.bias, or a layer of these, got dense_3");
  EXPECT_EQ(refusal_of<setting_error>([&] { (void)run.last_gradient("dense_2"); }),
            "there is no gradient before the first step (training::last_gradient): expected a call after a "
            "step, for example in listener::on_step");
}

}  // namespace last_gradient_test
