// SPDX-License-Identifier: Apache-2.0
// needs: onednn
#include <cmath>
#include <cohort/cohort.hpp>
#include <cohort/data/digits.hpp>
#include <cohort/onednn.hpp>
#include <cstdio>

constexpr auto net = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  return b.input({1, 28, 28}) | conv2d{.filters = 16, .kernel = 3, .padding = 1} | batch_norm{} | relu{}
         | max_pool{.window = 2} | conv2d{.filters = 32, .kernel = 3, .padding = 1} | batch_norm{} | relu{}
         | max_pool{.window = 2} | dropout{.rate = 0.25} | dense{.units = 10} | softmax_cross_entropy{};
}>();

int main() try {
  auto training = cohort::trainer<cohort::onednn>(
      net, {.optimizer = {.rule = cohort::momentum{.learning_rate =
                                                       cohort::schedule::step{
                                                           .initial = 0.05, .factor = 0.1, .every = 2},
                                                   .momentum = 0.9},
                          .l2 = 5e-4,
                          .bias_l2 = 5e-4,
                          .normalisation = cohort::normalise::clip_global_norm{.at = 1}},
            .weights = cohort::init::relu_uniform{},
            .seed = 0});
  training.fit(cohort::synthetic_digits(2000, 1), {.batch = 32, .epochs = 3});
  auto const report = training.evaluate(cohort::synthetic_digits(500, 2));
  std::printf("accuracy %.3f\n", report.accuracy().value_or(0));
  training.save("net.safetensors");
  return report.accuracy() > 0.9 ? 0 : 1;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
