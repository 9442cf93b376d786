// SPDX-License-Identifier: Apache-2.0
// needs: onednn
#include <cmath>
#include <cohort/cohort.hpp>
#include <cohort/onednn.hpp>
#include <cohort/training/training_loop.hpp>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

constexpr int batch = 64, noise_width = 4;

constexpr auto generator = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  return b.input({noise_width}, "noise") | dense{.units = 24} | tanh_activation{}
         | dense{.units = 1, .name = "number"};
}>();

constexpr auto critic = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  return b.input({1}, "number") | dense{.units = 24} | leaky_relu{.slope = 0.2} | dense{.units = 24}
         | leaky_relu{.slope = 0.2} | dense{.units = 1} | binary_cross_entropy{};
}>();

/// Normal numbers, new ones in each step.
struct normal_numbers {
  std::vector<float> values;

  normal_numbers(int count, std::uint64_t step, char const* purpose, double mean, double deviation) {
    cohort::random_stream const numbers = cohort::random_stream(1, purpose).at(step);
    for (int i = 0; i < count; ++i)
      values.push_back(static_cast<float>(mean + deviation * numbers.normal(static_cast<std::uint64_t>(i))));
  }
  cohort::tensor_view view(int width) const {
    return {values.data(), {static_cast<int>(values.size()) / width, width}};
  }
};

cohort::training made_with(cohort::graph net) {
  return cohort::trainer<cohort::onednn>(
      std::move(net), {.optimizer = {cohort::adam{.learning_rate = 2e-3, .beta1 = 0.5}}, .workers = 2});
}

void train(cohort::training& making, cohort::training& judging) {
  std::vector<float> const yes(batch, 1), no(batch, 0);
  cohort::tensor_view const real{yes.data(), {batch, 1}}, fake{no.data(), {batch, 1}};
  cohort::training_loop maker(making, {.outputs = {"number"}});
  cohort::training_loop judge(judging, {.input_gradients = true});
  for (std::uint64_t step = 0; step < 1500; ++step) {
    normal_numbers const noise(batch * noise_width, step, "noise", 0, 1), known(batch, step, "known", 3, 0.5);
    maker.forward({{noise.view(noise_width)}, {}});
    cohort::tensor_view const made = maker.outputs()[0];

    judge.forward({known.view(1), real});
    judge.backward();
    judge.forward({made, fake});
    judge.backward();
    judge.step();

    judge.forward({made, real});
    judge.backward();
    maker.backward(judge.input_gradients()[0]);
    judge.discard();
    maker.step();
  }
}

/// Where the critic's decision is most sensitive: the slope of its loss at a number.
double slope_at(cohort::training& judging, float number) {
  float const yes = 1;
  cohort::training_loop judge(judging, {.input_gradients = true});
  judge.forward({{&number, {1, 1}}, {&yes, {1, 1}}});
  judge.backward();
  double const slope = static_cast<double>(judge.input_gradients()[0].as<float>()[0]);
  judge.discard();
  return slope;
}

int main() try {
  cohort::training making = made_with(generator), judging = made_with(critic);
  train(making, judging);
  int const count = 2000;
  normal_numbers const noise(count * noise_width, 0, "new noise", 0, 1);
  cohort::predictions const made = making.predict(noise.view(noise_width));
  double sum = 0, squares = 0;
  for (float const x : made.values) {
    sum += static_cast<double>(x);
    squares += static_cast<double>(x) * static_cast<double>(x);
  }
  double const mean = sum / count, deviation = std::sqrt(squares / count - mean * mean);
  std::printf("mean %.2f, deviation %.2f\n", mean, deviation);
  std::printf("slope of the critic's loss at 0: %.3f\n", slope_at(judging, 0));
  return std::abs(mean - 3) < 0.4 && deviation > 0.15 && deviation < 1 ? 0 : 1;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
