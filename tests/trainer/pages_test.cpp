// SPDX-License-Identifier: Apache-2.0
// The programs of docs/prediction.md and docs/own_loop.md, identical to the pages (checked by
// tests/docs_test.py).
#include <gtest/gtest.h>
#include <algorithm>
#include <chrono>
#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/data/digits.hpp>
#include <cohort/trainer/dynamic_batcher.hpp>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace trainer_pages_test {

constexpr auto digits = cohort::network<[](cohort::builder& net) {
  using namespace cohort;
  return net.input({1, 28, 28}) | dense{.units = 32, .bias = false} | batch_norm{} | relu{}
         | dense{.units = 10} | softmax_cross_entropy{};
}>();

int main() try {
  auto training = cohort::trainer<cohort::reference<float>>(digits, {.updater = cohort::adam{}});
  training.fit(cohort::drawn_digits(2'000, 1), {.batch = 16});
  cohort::loader batches(cohort::drawn_digits(64, 2), {.batch = 64, .shuffle = false});
  cohort::tensor_view const images = batches.next()->input();

  cohort::dynamic_batcher batcher(training, {.max_batch = 16, .max_delay = std::chrono::microseconds(500)});
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&, caller] {
      for (int i = caller; i < 64; i += 4) {
        cohort::predictions const one = batcher.predict(images.rows(i, 1));  // blocks only this caller
        std::printf("image %d is a %d\n", i, one.best(0));
      }
    });
  for (std::thread& one : callers) one.join();
  return 0;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}

TEST(pages, of_prediction_run) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(main(), 0);
  std::string const said = testing::internal::GetCapturedStdout();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 64);
  EXPECT_NE(said.find("image 63 is a "), std::string::npos);
}

}  // namespace trainer_pages_test

namespace trainer_pages_test::own_loop {

constexpr auto digits = cohort::network<[](cohort::builder& net) {
  using namespace cohort;
  return net.input({1, 28, 28}) | dense{.units = 32} | relu{} | dense{.units = 10} | softmax_cross_entropy{};
}>();

int main() try {
  namespace metrics = cohort::metrics;
  cohort::dataset const images = cohort::drawn_digits(2'000, 1), held = cohort::drawn_digits(500, 2);
  auto run = cohort::trainer<cohort::reference<float>>(digits, {.updater = cohort::adam{}});

  cohort::early_stopping_listener stopping(metrics::loss, {.patience = 2, .restore_best = true});
  cohort::fit_report const report = run.fit(images, {.batch = 16,
                                                     .epochs = 5,
                                                     .validation = held,
                                                     .metrics = {metrics::accuracy, metrics::top_k(3)},
                                                     .listeners = {&stopping}});
  std::printf("%s", report.history.csv().c_str());
  std::printf("accuracy after the last epoch: %.3f\n", report.history["accuracy"].back());
  return 0;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}

void train_by_hand(cohort::training& run, cohort::tensor_view images, cohort::tensor_view labels) {
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int first = 0; first + 50 <= images.dims[0]; first += 50)
      run.train_on({images.rows(first, 50), labels.rows(first, 50)});
    cohort::epoch_report const done = run.end_epoch();
    std::printf("epoch %d: loss %.3f in training, %.3f after it\n", epoch + 1, done.loss,
                run.loss_of({images, labels}));
  }
}

void train_in_parts(cohort::training& run, cohort::dataset const& images) {
  cohort::loader batches(images, {.batch = 64, .rank = run.world().rank(), .ranks = run.world().size()});
  cohort::training_loop loop(run);
  for (int epoch = 0; epoch < 2; ++epoch) {
    batches.start(epoch);
    while (cohort::batch const* const next = batches.next()) {
      loop.forward(*next);
      loop.backward();
      for (float& one : loop.gradient("dense_1.bias")) one *= 0.5F;
      double const norm = loop.clip_norm(1);
      loop.step();
      if (run.step() % 20 == 0)
        std::printf("step %d: loss %.3f, norm %.3f\n", int(run.step()), loop.loss(), norm);
    }
    run.end_epoch();
  }
}

double rate_for(cohort::training& run, cohort::dataset const& images) {
  cohort::rate_table const table = cohort::find_rate(run, images, {.from = 1e-5, .to = 10, .steps = 80});
  std::printf("%s", table.csv().c_str());
  return table.suggested.value_or(0.01);
}

TEST(pages, of_own_loops_run) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(main(), 0);
  std::string const said = testing::internal::GetCapturedStdout();
  EXPECT_EQ(said.rfind("epoch,loss,examples,seconds,validation loss,accuracy,top-3 accuracy\n1,", 0), 0U)
      << said;
  EXPECT_NE(said.find("accuracy after the last epoch: 0."), std::string::npos) << said;

  cohort::dataset const images = cohort::drawn_digits(640, 1);
  cohort::loader batches(images, {.batch = 640});
  batches.start(0);
  cohort::batch const& all = *batches.next();
  auto run = cohort::trainer<cohort::reference<float>>(digits, {.updater = cohort::adam{}});
  testing::internal::CaptureStdout();
  train_by_hand(run, all.input(), all.target());
  train_in_parts(run, images);
  EXPECT_EQ(run.epoch(), 4);
  double const rate = rate_for(run, images);
  EXPECT_GT(rate, 1e-5);
  EXPECT_LT(rate, 10);
  std::string const lines = testing::internal::GetCapturedStdout();
  EXPECT_NE(lines.find("epoch 2: loss "), std::string::npos) << lines;
  EXPECT_NE(lines.find("step 40: loss "), std::string::npos) << lines;
}

}  // namespace trainer_pages_test::own_loop
