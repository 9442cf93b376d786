// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/onednn.hpp>
#include <cohort/training/trainer.hpp>
#include <cohort/training/training_loop.hpp>
#include <span>
#include <string>
#include <vector>
#include "../../training/bright_thirds.hpp"

namespace training_loop_test {

using namespace cohort;
using cohort_test::bright_thirds;

constexpr auto blocked = network<[](builder& net) {
  return net.input({1, 8, 8}) | conv2d{.filters = 24, .kernel = 3} | batch_norm{} | relu{}
         | conv2d{.filters = 20, .kernel = 3} | relu{} | max_pool{.window = 2} | dense{.units = 70} | relu{}
         | dense{.units = 3} | softmax_cross_entropy{};
}>();

template <class Step>
std::string after_batches(dataset const& data, int workers, Step step) {
  training run = trainer<onednn>(blocked, {.optimizer = {adam{.learning_rate = 0.01}}, .workers = workers});
  loader batches(data, {.batch = 16, .seed = run.settings().seed});
  training_loop loop(run);
  for (int e = 0; e < 2; ++e) {
    batches.start(e);
    while (batch const* const next = batches.next()) step(run, loop, *next);
    run.end_epoch();
  }
  return run.checksum();
}

TEST(training_loop_with_onednn, is_bitwise_equal_to_fit_in_blocked_layouts) {
  bright_thirds const examples(89);
  for (int workers : {1, 2}) {
    training fitted =
        trainer<onednn>(blocked, {.optimizer = {adam{.learning_rate = 0.01}}, .workers = workers});
    fitted.fit(examples.data(), {.batch = 16, .epochs = 2});
    auto const in_parts = [](training&, training_loop& loop, batch const& next) {
      loop.forward(next);
      loop.backward();
      loop.step();
    };
    auto const viewed = [](training&, training_loop& loop, batch const& next) {
      loop.forward(next);
      loop.backward();
      double const norm = loop.clip_norm(1e9);
      double squares = 0;
      for (char const* layer : {"conv2d_1", "conv2d_2", "dense_1", "dense_2"})
        for (float const one : loop.gradient(layer)) squares += static_cast<double>(one) * one;
      for (char const* name : {"batch_norm_1.scale", "batch_norm_1.shift"})
        for (float const one : loop.gradient(name)) squares += static_cast<double>(one) * one;
      EXPECT_NEAR(norm, std::sqrt(squares), 1e-5 * norm);
      loop.step();
    };
    auto const whole = [](training& run, training_loop&, batch const& next) { run.train_on(next); };
    EXPECT_EQ(after_batches(examples.data(), workers, in_parts), fitted.checksum());
    EXPECT_EQ(after_batches(examples.data(), workers, viewed), fitted.checksum());
    EXPECT_EQ(after_batches(examples.data(), workers, whole), fitted.checksum());
  }
}

constexpr auto wide = network<[](builder& net) {
  return net.input({64}) | dense{.units = 256} | relu{} | dense{.units = 256} | relu{} | dense{.units = 3}
         | softmax_cross_entropy{};
}>();

/// A further size of micro-batches makes another plan, whose layouts may need other working copies.
TEST(training_loop_with_onednn, uses_current_weights_for_every_size_of_micro_batches) {
  bright_thirds const examples(33);
  tensor_view const images(examples.pixels.data(), shape{33, 64}), labels(examples.labels.data(), shape{33});
  auto const trained = [&]<class B>(B) {
    training run = trainer<B>(wide, {.optimizer = {sgd{.learning_rate = 0.1}}});
    training_loop loop(run);
    for (int i = 0; i < 3; ++i) {
      for (auto [first, count] : {std::pair(0, 32), std::pair(32, 1)}) {
        loop.forward({images.rows(first, count), labels.rows(first, count)});
        loop.backward();
      }
      loop.step();
    }
    return run.predict(images).values;
  };
  std::vector<float> const oracle = trained(reference<double>()), other = trained(onednn());
  for (std::size_t i = 0; i < oracle.size(); ++i) ASSERT_NEAR(oracle[i], other[i], 1e-4) << i;
}

}  // namespace training_loop_test
