// SPDX-License-Identifier: Apache-2.0
// needs: onednn
#include <cohort/cohort.hpp>
#include <cohort/data/digits.hpp>
#include <cohort/onednn.hpp>
#include <cstdio>

constexpr auto net = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  return b.input({1, 28, 28}) | conv2d{.filters = 16, .kernel = 3, .padding = padding::same} | relu{}
         | max_pool{.window = 2} | conv2d{.filters = 32, .kernel = 3, .padding = padding::same} | relu{}
         | max_pool{.window = 2} | dense{.units = 64} | batch_norm{.momentum = 0.99, .epsilon = 1e-3} | relu{}
         | dropout{.rate = 0.5} | dense{.units = 10} | softmax_cross_entropy{};
}>();

int main() try {
  cohort::dataset const train = cohort::synthetic_digits(2000, 1),
                        validation = cohort::synthetic_digits(500, 2);
  auto training = cohort::trainer<cohort::onednn>(
      net, {.optimizer = {.rule = cohort::adam{.learning_rate = 1e-3, .epsilon = 0, .epsilon_hat = 1e-7},
                          .l2 = 2e-4},
            .weights = cohort::init::xavier_uniform{}});
  cohort::progress_listener progress;
  cohort::early_stopping_listener stopping(cohort::metrics::loss, {.patience = 3, .restore_best = true});
  training.fit(train,
               {.batch = 32, .epochs = 6, .validation = validation, .listeners = {&progress, &stopping}});
  auto const report = training.evaluate(validation);
  std::printf("accuracy %.3f, log loss %.3f\n", report.accuracy().value_or(0), report.log_loss().value_or(0));
  return report.accuracy() > 0.9 ? 0 : 1;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
