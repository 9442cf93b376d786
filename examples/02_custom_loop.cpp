// SPDX-License-Identifier: Apache-2.0
// needs: onednn zlib
// label: slow
// A custom training loop from the trainer's parts: store, plan, context, updater and loader. It accumulates
// gradients over micro-batches and clips the gradient norm.
#include <cmath>
#include <cohort/cohort.hpp>
#include <cohort/mnist.hpp>
#include <cohort/onednn.hpp>
#include <cohort/plan/make_plan.hpp>
#include <cohort/plan/parameter_store.hpp>
#include <cstdio>
#include <memory>

namespace {

using backend = cohort::onednn;

constexpr int micro_batch = 32;
constexpr int micro_batches = 2;
constexpr double max_norm = 1;

constexpr auto mlp = cohort::network<[](cohort::builder& net) {
  using namespace cohort;
  return net.input({1, 28, 28}) | dense{.units = 128} | relu{} | dense{.units = 10} | softmax_cross_entropy{};
}>();

/// Scales the gradient down to max_norm if its norm is larger. Returns the norm before. The arena's padding
/// is zero and does not change the norm.
double clip_norm(cohort::parameter_set const& parameters, std::byte* gradients) {
  std::span<float> const values(reinterpret_cast<float*>(gradients), parameters.arena_elements());
  double squares = 0;
  for (float const value : values) squares += static_cast<double>(value) * value;
  double const norm = std::sqrt(squares);
  if (norm > max_norm)
    for (float& value : values) value *= static_cast<float>(max_norm / norm);
  return norm;
}

void train() {
  backend::threads(2);  // OpenMP threads; plans and contexts made on this thread use them
  auto const parameters = std::make_shared<cohort::parameter_store<backend>>(backend{}, mlp);
  auto const plan = cohort::make_plan(parameters, mlp, {.batch = micro_batch});
  std::fputs(cohort::text_of(*plan).c_str(), stdout);
  parameters->initialise(123);
  parameters->refresh_stale();

  auto const worker = plan->make_context();
  std::byte* const gradients[]{worker->gradients()};
  cohort::parameter_update update(*parameters, {.updater = cohort::momentum{.rate = 0.1}});
  cohort::loader batches(cohort::mnist::train(),
                         {.batch = micro_batch * micro_batches, .seed = 123, .drop_last = true});

  std::int64_t step = 0;
  for (int epoch = 0; epoch < 2; ++epoch) {
    double loss = 0, norms = 0;
    batches.start(epoch);
    while (cohort::batch const* const batch = batches.next()) {
      for (int part = 0; part < micro_batches; ++part) {
        worker->forward(batch->input().rows(part * micro_batch, micro_batch),
                        batch->target().rows(part * micro_batch, micro_batch));
        worker->backward({.gradient_scale = 1.0 / batch->count, .accumulate = part > 0});
        loss += worker->loss();
      }
      norms += clip_norm(*parameters, worker->gradients());
      update.apply(0, 1, gradients, step++, epoch);
      parameters->mark_changed();
      parameters->refresh(0, 1);
    }
    auto const steps = static_cast<double>(batches.batches());
    std::printf("epoch %d: loss %.4f, gradient norm %.3f\n", epoch + 1,
                loss / steps / (micro_batch * micro_batches), norms / steps);
  }

  auto const inference = cohort::make_plan(parameters, mlp, {.batch = 250, .training = false});
  auto const reader = inference->make_context();
  parameters->refresh_stale();
  cohort::classification_report report(10);
  cohort::loader tests(cohort::mnist::test(), {.batch = 250, .shuffle = false});
  while (cohort::batch const* const batch = tests.next()) {
    reader->forward(batch->input());
    report.add(reader->output(), batch->target().as<std::int32_t>());
  }
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
