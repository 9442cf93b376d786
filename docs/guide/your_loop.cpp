// SPDX-License-Identifier: Apache-2.0
// needs: onednn
#include <cmath>
#include <cohort/cohort.hpp>
#include <cohort/data/digits.hpp>
#include <cohort/onednn.hpp>
#include <cohort/training/find_learning_rate.hpp>
#include <cohort/training/training_loop.hpp>
#include <cstdio>

constexpr auto net = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  return b.input({1, 28, 28}) | conv2d{.filters = 8, .kernel = 5} | relu{} | max_pool{.window = 2}
         | dense{.units = 64} | relu{} | dense{.units = 10, .name = "digit"} | softmax_cross_entropy{};
}>();

cohort::training run_with(double rate, cohort::communicator& world) {
  return cohort::trainer<cohort::onednn>(
      net, world, cohort::allreduce{},
      {.optimizer = {cohort::momentum{.learning_rate = rate, .momentum = 0.9}}});
}

double rate_for(cohort::dataset const& images, cohort::communicator& world) {
  cohort::training trial = run_with(1e-3, world);
  cohort::rate_table const table =
      cohort::find_learning_rate(trial, images, {.from = 1e-4, .to = 1, .steps = 60, .batch = 16});
  return table.suggested.value_or(1e-2);
}

void short_epoch(cohort::training& run, cohort::loader& batches) {
  batches.start(run.epoch());
  while (cohort::batch const* const next = batches.next()) run.train_on(*next);
}

double long_epoch(cohort::training& run, cohort::loader& batches) {
  constexpr int micro_batches = 2;
  int const rows = batches.settings().batch / micro_batches;
  cohort::training_loop loop(run);
  double largest = 0;
  batches.start(run.epoch());
  while (cohort::batch const* const next = batches.next()) {
    for (int part = 0; part < micro_batches; ++part) {
      loop.forward(cohort::batch_view(*next).rows(part * rows, rows));
      loop.backward();
    }
    for (float& one : loop.gradient("digit.bias")) one *= 2;
    largest = std::fmax(largest, loop.clip_norm(1));
    loop.step();
  }
  return largest;
}

void train(cohort::communicator& world) {
  cohort::dataset const images = cohort::synthetic_digits(2000, 1), held = cohort::synthetic_digits(500, 2);
  double const rate = rate_for(images, world);
  cohort::training run = run_with(rate, world);
  cohort::loader batches(
      images, {.batch = 16, .rank = world.rank(), .ranks = world.size(), .seed = 1, .drop_last = true});

  cohort::fit_history history;
  double largest = 0, best = 0;
  for (int epoch = 0; epoch < 10; ++epoch) {
    if (epoch == 0)
      short_epoch(run, batches);
    else
      largest = std::fmax(largest, long_epoch(run, batches));
    cohort::epoch_report done = run.end_epoch();
    cohort::classification_report const report = run.evaluate(held);
    double const accuracy = report.accuracy().value_or(0);
    done.validation = {{"accuracy", accuracy}, {"log loss", report.log_loss().value_or(NAN)}};
    history.add(done);
    if (accuracy <= best) break;
    best = accuracy;
  }
  run.save("digits.safetensors");
  if (world.rank() == 0)
    std::printf("rate %.4f, largest gradient norm %.1f\n%s", rate, largest, history.csv().c_str());
}

int main() try {
  // Two ranks, which are threads of this process.
  return cohort::launch<cohort::threads>(2, train);
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
