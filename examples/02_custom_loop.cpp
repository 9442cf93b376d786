// SPDX-License-Identifier: Apache-2.0
// needs: onednn zlib
// label: slow
// A training loop of your own: it accumulates gradients over micro-batches, clips the gradient norm and reads
// the gradient of one layer. docs/own_loop.md explains the calls.
#include <cmath>
#include <cohort/cohort.hpp>
#include <cohort/mnist.hpp>
#include <cohort/onednn.hpp>
#include <cohort/training/training_loop.hpp>
#include <cstdio>

namespace {

constexpr int micro_batch = 32, micro_batches = 2;
constexpr double max_norm = 1;

constexpr auto mlp = cohort::network<[](cohort::builder& net) {
  using namespace cohort;
  return net.input({1, 28, 28}) | dense{.units = 128} | relu{} | dense{.units = 10} | softmax_cross_entropy{};
}>();

double norm_of(std::span<float const> values) {
  double squares = 0;
  for (float const value : values) squares += static_cast<double>(value) * value;
  return std::sqrt(squares);
}

void train() {
  auto run = cohort::trainer<cohort::onednn>(
      mlp, {.optimizer = {cohort::momentum{.learning_rate = 0.1}}, .workers = 2});
  std::fputs(run.plan_table(micro_batch).c_str(), stdout);
  cohort::loader batches(cohort::mnist::train(), {.batch = micro_batch * micro_batches, .drop_last = true});
  cohort::training_loop loop(run);
  for (int epoch = 0; epoch < 2; ++epoch) {
    double norms = 0, last_layer = 0;
    batches.start(epoch);
    while (cohort::batch const* const batch = batches.next()) {
      for (int part = 0; part < micro_batches; ++part) {
        loop.forward(cohort::batch_view(*batch).rows(part * micro_batch, micro_batch));
        loop.backward();
      }
      norms += loop.clip_norm(max_norm);
      last_layer = norm_of(loop.gradient("dense_2"));
      loop.step();
    }
    cohort::epoch_report const done = run.end_epoch();
    std::printf("epoch %d: loss %.4f, mean gradient norm %.3f, dense_2 in the last step %.3f\n", epoch + 1,
                done.loss, norms / static_cast<double>(done.steps), last_layer);
  }
  cohort::classification_report const report = run.evaluate(cohort::mnist::test());
  std::printf("accuracy on %lld test images: %.2f %%\n", static_cast<long long>(report.examples()),
              100 * report.accuracy().value_or(0));
}

}  // namespace

int main() try {
  train();
  return 0;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
