// SPDX-License-Identifier: Apache-2.0
// needs: onednn zlib
// LeNet on MNIST: two ranks train it with parameter averaging and print a report. The README shows this
// program.
#include <cohort/cohort.hpp>
#include <cohort/mnist.hpp>
#include <cohort/onednn.hpp>
#include <cstdio>

constexpr auto lenet = cohort::network<[](cohort::builder& net) {
  using namespace cohort;
  // clang-format off
  return net.input({1, 28, 28})
       | conv2d{.filters = 20, .kernel = 5} | relu{} | max_pool{.window = 2}
       | conv2d{.filters = 50, .kernel = 5, .stride = 2} | relu{} | max_pool{.window = 2}
       | dense{.units = 200} | relu{}
       | dense{.units = 10} | softmax_cross_entropy{};
  // clang-format on
}>();
static_assert(lenet.parameter_count() == 67'780);

int main() try {
  return cohort::launch<cohort::threads>(2, [](cohort::communicator& world) {
    auto training = cohort::trainer<cohort::onednn>(
        lenet, world, cohort::parameter_averaging{.every = 5},
        {.optimizer = {.rule = cohort::adagrad{.learning_rate = 0.02}, .l2 = 5e-4}, .seed = 123});
    training.fit(cohort::mnist::train(), {.batch = 32, .epochs = 5});
    auto const report = training.evaluate(cohort::mnist::test());
    if (world.rank() == 0) std::puts(report.stats().c_str());
  });
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
