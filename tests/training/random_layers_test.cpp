// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/launch.hpp>
#include "../strategy/rank_cases.hpp"

namespace random_layers_test {

using namespace cohort_test;

/// Every random layer, without batch statistics.
constexpr auto noisy = network<[](builder& net) {
  return net.input({1, 8, 8}) | gaussian_noise{} | conv2d{.filters = 4, .kernel = 3} | relu{}
         | spatial_dropout{.rate = 0.25} | dense{.units = 10} | relu{} | dropout{} | dense{.units = 3}
         | softmax_cross_entropy{};
}>();

std::vector<double> trained(communicator& world, int share, int workers) {
  bright_thirds const examples(103);
  training_settings settings = plain_sgd();
  settings.workers = workers;
  training made = trainer<wide>(noisy, world, allreduce{}, settings);
  made.fit(examples.data(), {.batch = share, .epochs = 2});
  return parameters_of(made);
}
std::vector<double> alone(int batch, int workers) {
  std::vector<double> found;
  launch<self>([&](communicator& world) { found = trained(world, batch, workers); });
  return found;
}

TEST(random_layers, train_equally_for_any_number_of_workers_and_ranks) {
  std::vector<double> const wanted = alone(24, 1);
  for (int const workers : {2, 3})
    EXPECT_LT(largest_difference(alone(24, workers), wanted), 1e-10) << workers;
  for (int const ranks : {2, 3})
    launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
      EXPECT_LT(largest_difference(trained(world, 24 / ranks, 2), wanted), 1e-10) << ranks << " ranks";
    });
}

TEST(random_layers, are_deterministic_for_a_seed) { EXPECT_EQ(alone(24, 1), alone(24, 1)); }

TEST(random_layers, evaluate_deterministically_and_do_not_prevent_learning) {
  bright_thirds const examples(103);
  training made = trainer<wide>(noisy, plain_sgd());
  made.fit(examples.data(), {.batch = 24, .epochs = 2});
  auto const accuracy = made.evaluate(examples.data()).accuracy();
  EXPECT_EQ(made.evaluate(examples.data()).accuracy(), accuracy);
  made.fit(examples.data(), {.batch = 24, .epochs = 6});
  EXPECT_GT(made.evaluate(examples.data()).accuracy().value(), 0.9)
      << "noise in training does not keep it from learning";
}

}  // namespace random_layers_test
