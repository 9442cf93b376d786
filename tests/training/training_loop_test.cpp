// SPDX-License-Identifier: Apache-2.0
// label: slow
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/training/training_loop.hpp>
#include <cstring>
#include <limits>
#include <string>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "../strategy/rank_cases.hpp"
#include "own_loops.hpp"

namespace training_loop_test {

using namespace cohort_test;

training_settings with(int workers) {
  return {.optimizer = {.rule = adam{.learning_rate = 0.01}, .l2 = 1e-3}, .workers = workers};
}

/// Trains by a loop, whose gradients look(loop) may use.
template <class Look>
void loop_over(training& run, dataset const& data, int batch_size, Look look) {
  training_loop loop(run);
  for_each_batch(run, data, batch_size, 2, [&](batch const& next) {
    loop.forward(next);
    loop.backward();
    look(loop);
    step_report const done = loop.step();
    EXPECT_EQ(done.examples, next.count);
    EXPECT_EQ(done.loss, loop.loss());
  });
}

TEST(training_loop, is_bitwise_equal_to_fit_for_every_strategy) {
  bright_thirds const examples(103);
  for_every_strategy([&](auto const& how) {
    for (int ranks : {1, 2})
      for (int workers : {1, 2, 3}) {
        auto const fitted = checksums_of(ranks, how, with(workers), [&](training& run) {
          run.fit(examples.data(), {.batch = 8, .epochs = 2});
        });
        auto const looped = checksums_of(ranks, how, with(workers), [&](training& run) {
          loop_over(run, examples.data(), 8, [](training_loop&) {});
        });
        EXPECT_EQ(looped, fitted) << ranks << ' ' << workers;
        auto const viewed = checksums_of(ranks, how, with(workers), [&](training& run) {
          loop_over(run, examples.data(), 8, [&](training_loop& loop) {
            EXPECT_GT(loop.clip_norm(1e9), 0);
            EXPECT_EQ(static_cast<std::int64_t>(loop.gradients().size()), run.parameters().elements());
          });
        });
        EXPECT_EQ(viewed, fitted) << ranks << ' ' << workers;
      }
  });
}

TEST(training_loop, accumulates_like_fit) {
  bright_thirds const examples(96);
  auto const looped = [&](training& run) {
    training_loop loop(run);
    for_each_batch(run, examples.data(), 16, 2, [&](batch const& next) {
      for (int part : {0, 1}) {  // powers of two, so that the scales are exact
        loop.forward(batch_view(next).rows(8 * part, 8));
        loop.backward();
      }
      EXPECT_EQ(loop.step().examples, 16);
    });
  };
  auto const fitted = [&](training& run) {
    run.fit(examples.data(), {.batch = 16, .epochs = 2, .accumulate = 2});
  };
  EXPECT_EQ(checksums_of(1, no_exchange(), with(1), looped), checksums_of(1, no_exchange(), with(1), fitted));

  bright_thirds const odd(90);
  auto const in_parts = [&](int workers, std::vector<int> parts) {
    training run = trainer<wide>(small, {.optimizer = {nesterov{.learning_rate = 0.05}}, .workers = workers});
    training_loop loop(run);
    for_each_batch(run, odd.data(), 10, 2, [&](batch const& next) {
      int first = 0;
      for (int count : parts) {
        loop.forward(batch_view(next).rows(first, count));
        loop.backward();
        first += count;
      }
      loop.step();
    });
    return parameters_of(run);
  };
  auto const whole = in_parts(1, {10});
  EXPECT_LT(largest_difference(in_parts(1, {3, 1, 6}), whole), 1e-13);
  EXPECT_LT(largest_difference(in_parts(3, {7, 1, 2}), whole), 1e-13)
      << "some workers have no rows of a part";
  EXPECT_LT(largest_difference(in_parts(2, {10, 0}), whole), 1e-13);
}

TEST(training_loop, provides_the_gradient_of_the_mean_loss) {
  bright_thirds const examples(12);
  training run = trainer<wide>(small, {.optimizer = {sgd{.learning_rate = 0.5}}, .workers = 2});
  tensor_view const images(examples.pixels.data(), shape{12, 1, 8, 8}),
      labels(examples.labels.data(), shape{12});
  std::vector<double> const before = parameters_of(run);
  training_loop loop(run);
  for (int half : {0, 6}) {
    loop.forward({images.rows(half, 6), labels.rows(half, 6)});
    loop.backward();
  }
  std::vector<double> const gradient(loop.gradients<double>().begin(), loop.gradients<double>().end());
  EXPECT_EQ(loop.gradient<double>("dense_2.weights").size(), 30U);
  EXPECT_EQ(loop.gradient<double>("dense_2").size(), 33U);
  EXPECT_EQ(loop.gradient<double>("dense_2").data(), &loop.gradients<double>()[gradient.size() - 33]);
  loop.step();
  std::vector<double> const after = parameters_of(run);
  for (std::size_t i = 0; i < before.size(); ++i)
    ASSERT_NEAR(after[i], before[i] - 0.5 * gradient[i], 1e-14) << i;

  std::size_t const at = gradient.size() - 3;  // a bias of the last layer
  auto const loss_with = [&](double shift) {
    training moved = trainer<wide>(small);
    std::vector<double> values = parameters_of(moved);
    values[at] += shift;
    moved.parameters().write_all(reinterpret_cast<std::byte const*>(values.data()),
                                 moved.parameters().master());
    moved.parameters().mark_changed();
    return moved.loss_of({images, labels});
  };
  EXPECT_NEAR((loss_with(1e-5) - loss_with(-1e-5)) / 2e-5, gradient[at], 1e-8);
}

TEST(training_loop, updates_with_gradients_modified_by_the_program) {
  bright_thirds const examples(12);
  training run = trainer<narrow>(small, {.optimizer = {sgd{.learning_rate = 1}}, .workers = 2});
  std::vector<double> const before = [&] {
    auto const all = parameters_of<float>(run);
    return std::vector<double>(all.begin(), all.end());
  }();
  training_loop loop(run);
  loop.forward({tensor_view(examples.pixels.data(), shape{12, 1, 8, 8}),
                tensor_view(examples.labels.data(), shape{12})});
  loop.backward();
  for (float& one : loop.gradients()) one = 0;
  loop.gradient("dense_1.bias")[4] = 3;
  EXPECT_EQ(loop.clip_norm(2), 3);
  EXPECT_EQ(loop.gradient("dense_1.bias")[4], 2);
  loop.step();
  auto const after = parameters_of<float>(run);
  int changed = 0;
  for (std::size_t i = 0; i < after.size(); ++i)
    if (static_cast<double>(after[i]) != before[i]) {
      ++changed;
      EXPECT_EQ(static_cast<double>(after[i]) - before[i], -2);
    }
  EXPECT_EQ(changed, 1);
}

TEST(training_loop, clips_gradients_like_the_settings_of_fit) {
  bright_thirds const examples(64);
  for (int const ranks : {1, 2})
    for (int const workers : {1, 3}) {
      std::vector<std::vector<double>> norms(2);
      auto const trained = [&](bool by_loop) {
        std::vector<double> found;
        launch<threads>(ranks, [&](communicator& world) {
          training_settings settings{.optimizer = {sgd{.learning_rate = 0.5}}, .workers = workers};
          if (!by_loop) settings.optimizer.normalisation = normalise::clip_global_norm{0.1};
          training run = trainer<wide>(small, world, allreduce{}, settings);
          if (by_loop)
            loop_over(run, examples.data(), 8, [&](training_loop& loop) {
              norms[static_cast<std::size_t>(world.rank())].push_back(loop.clip_norm(0.1));
            });
          else
            run.fit(examples.data(), {.batch = 8, .epochs = 2});
          if (world.rank() == 0) found = parameters_of(run);
        });
        return found;
      };
      EXPECT_LT(largest_difference(trained(true), trained(false)), 1e-13);
      EXPECT_GT(*std::ranges::max_element(norms[0]), 0.1);
      EXPECT_TRUE(ranks == 1 || norms[0] == norms[1]);
    }
}

TEST(training_loop, stops_all_ranks_after_a_number_that_is_not_finite) {
  bright_thirds const examples(8);
  std::vector<std::string> texts(2);
  launch<threads>(2, [&](communicator& world) {
    std::vector<float> pixels = examples.pixels;
    if (world.rank() == 1) pixels[70] = std::numeric_limits<float>::quiet_NaN();
    training run = trainer<narrow>(small, world, allreduce{}, {.optimizer = {sgd{}}, .workers = 2});
    std::string const before = run.checksum();
    training_loop loop(run);
    loop.forward(
        {tensor_view(pixels.data(), shape{8, 1, 8, 8}), tensor_view(examples.labels.data(), shape{8})});
    loop.backward();
    EXPECT_EQ(std::isnan(loop.loss()), world.rank() == 1);
    texts[static_cast<std::size_t>(world.rank())] = refusal_of<numeric_error>([&] { loop.step(); });
    EXPECT_EQ(run.checksum(), before);
  });
  EXPECT_NE(texts[0].find("rank 1: step 0, epoch 0"), std::string::npos) << texts[0];
  EXPECT_EQ(texts[0], texts[1]);
}

TEST(training_loop, skips_the_same_steps_as_fit_with_every_strategy) {
  bright_thirds examples(103);
  dataset const data = examples.data();
  examples.pixels[64 * 50 + 3] = std::numeric_limits<float>::quiet_NaN();  // after the data was checked
  for_every_strategy([&](auto const& how) {
    for (int workers : {1, 3}) {
      training_settings settings = with(workers);
      settings.not_finite = when_not_finite::skip;
      auto const fitted = checksums_of(2, how, settings, [&](training& run) {
        EXPECT_GT(run.fit(data, {.batch = 8, .epochs = 2}).skipped, 0);
      });
      auto const looped = checksums_of(2, how, settings, [&](training& run) {
        training_loop loop(run);
        for_each_batch(run, data, 8, 2, [&](batch const& next) {
          loop.forward(next);
          loop.backward();
          loop.step();
        });
      });
      EXPECT_EQ(looped, fitted) << workers;
    }
  });
}

TEST(training_loop, adds_zeros_for_a_worker_whose_loss_is_not_finite) {
  bright_thirds const examples(8);
  std::vector<float> pixels = examples.pixels;
  pixels[70] = std::numeric_limits<float>::quiet_NaN();  // of worker 0
  tensor_view const labels(examples.labels.data(), shape{8});
  batch_view const good(tensor_view(examples.pixels.data(), shape{8, 1, 8, 8}), labels),
      bad(tensor_view(pixels.data(), shape{8, 1, 8, 8}), labels);
  training run = trainer<wide>(small, {.workers = 2, .not_finite = when_not_finite::skip});
  training_loop loop(run);
  auto const gradient_of = [&](std::vector<batch_view> const& parts, bool is_finite) {
    for (batch_view const& part : parts) {
      loop.forward(part);
      loop.backward();
    }
    std::vector<double> gradient(loop.gradients<double>().begin(), loop.gradients<double>().end());
    for (double& one : loop.gradients<double>()) one = 0;
    EXPECT_EQ(loop.step().updated, is_finite);
    return gradient;
  };
  std::vector<double> const of_worker = gradient_of({good.rows(4, 4)}, true);
  gradient_of({good}, true);  // leaves a gradient in worker 0's part
  for (auto const& gradient : {gradient_of({bad}, false), gradient_of({good, bad}, false)}) {
    EXPECT_GT(std::ranges::max(gradient), 0);
    for (std::size_t i = 0; i < gradient.size(); ++i) ASSERT_NEAR(2 * gradient[i], of_worker[i], 1e-14) << i;
  }
}

constexpr auto linear =
    network<[](builder& net) { return net.input({1}) | dense{.units = 1} | mean_squared_error{}; }>();

TEST(training_loop, skips_a_step_whose_gradient_overflows) {
  constexpr float input = 1e30F, target = 1e10F;
  batch_view const data(tensor_view(&input, shape{1, 1}), tensor_view(&target, shape{1, 1}));
  for (bool const by_loop : {false, true}) {
    training run = trainer<narrow>(linear, {.optimizer = {sgd{}}, .not_finite = when_not_finite::skip});
    std::memset(run.parameters().master(), 0, run.parameters().arena_bytes());
    run.parameters().mark_changed();
    std::string const before = run.checksum();
    training_loop loop(run);
    if (by_loop) {
      loop.forward(data);
      loop.backward();
    }
    step_report const done = by_loop ? loop.step() : run.train_on(data);
    EXPECT_FALSE(done.updated) << by_loop;
    EXPECT_EQ(run.checksum(), before) << by_loop;
  }
}

TEST(training_loop, skips_a_step_after_the_program_set_an_infinite_gradient) {
  bright_thirds const examples(8);
  training run = trainer<narrow>(small, {.optimizer = {sgd{}}, .not_finite = when_not_finite::skip});
  batch_view const data(tensor_view(examples.pixels.data(), shape{8, 1, 8, 8}),
                        tensor_view(examples.labels.data(), shape{8}));
  std::string const before = run.checksum();
  training_loop loop(run);
  loop.forward(data);
  loop.backward();
  loop.gradients()[3] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(loop.step().updated);
  EXPECT_EQ(run.checksum(), before);
  loop.forward(data);
  loop.backward();
  EXPECT_TRUE(loop.step().updated);
  EXPECT_NE(run.checksum(), before);
}

TEST(training_loop, refuses_calls_out_of_order) {
  bright_thirds const examples(8);
  training run = trainer<narrow>(small);
  batch_view const data(tensor_view(examples.pixels.data(), shape{8, 1, 8, 8}),
                        tensor_view(examples.labels.data(), shape{8}));
  training_loop loop(run);
  auto const refused = [](auto call) { return refusal_of<setting_error>(call); };
  EXPECT_EQ(
      refused([&] { loop.backward(); }),
      "a call of a training_loop is out of order (training_loop::backward): expected forward, backward, "
      "again for further micro-batches, then step, got backward after no forward");
  EXPECT_NE(refused([&] { loop.step(); }), "");
  EXPECT_NE(refused([&] { loop.gradients(); }), "");
  loop.forward(data);
  EXPECT_NE(refused([&] { loop.step(); }).find("step after forward"), std::string::npos);
  loop.forward(data);
  loop.backward();
  EXPECT_NE(refused([&] { loop.backward(); }).find("backward after backward"), std::string::npos);
  EXPECT_EQ(refused([&] { loop.gradients<double>(); }),
            "the gradients have another element type (training_loop::gradients): expected f32, got f64");
  EXPECT_NE(refused([&] { loop.gradient("dense_7"); }).find("one of conv2d_1.weights, conv2d_1.bias, "),
            std::string::npos);
  EXPECT_NE(refused([&] { loop.clip_norm(0); }), "");
  EXPECT_NE(refused([&] { loop.forward(data); }).find("forward after the exchange"), std::string::npos);
  EXPECT_TRUE(loop.step().updated);

  loop.forward(data);
  run.loss_of(data);
  EXPECT_EQ(refused([&] { loop.backward(); }),
            "the run was used for something else within a step of a training_loop (training_loop::backward): "
            "expected no other step and no evaluation between forward and step, got a step or an evaluation");
  loop.forward(data);
  loop.backward();
  EXPECT_TRUE(loop.step().updated);
  EXPECT_EQ(run.step(), 2);
}

constexpr auto synchronised = network<[](builder& net) {
  return net.input({1, 8, 8}) | conv2d{.filters = 3, .kernel = 3} | synchronised_batch_norm{} | relu{}
         | dense{.units = 3} | softmax_cross_entropy{};
}>();

TEST(training_loop, is_bitwise_equal_to_fit_with_synchronised_batch_norm) {
  bright_thirds const examples(50);
  auto const trained = [&](bool by_loop) {
    std::vector<std::string> sums(2);
    launch<threads>(2, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
      training run = trainer<narrow>(synchronised, world, allreduce{}, with(2));
      if (by_loop)
        loop_over(run, examples.data(), 4, [](training_loop&) {});
      else
        run.fit(examples.data(), {.batch = 4, .epochs = 2});
      sums[static_cast<std::size_t>(world.rank())] = run.checksum();
    });
    return sums;
  };
  EXPECT_EQ(trained(true), trained(false));
}

}  // namespace training_loop_test
