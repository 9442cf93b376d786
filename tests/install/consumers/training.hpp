// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cohort.hpp>
#include <cstdint>
#include <string>
#include <vector>

/// The checksum of a small network's parameters after two epochs by two ranks.
template <class Backend, class Strategy>
std::string checksum_after_training(Strategy const& how) {
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 64; ++i) {
    for (int k = 0; k < 4; ++k) inputs.push_back(static_cast<float>((i * 7 + k * 3) % 11) / 11);
    labels.push_back(i % 3);
  }
  cohort::arrays const data(inputs, {4}, labels, 3);
  std::string checksum;
  cohort::launch<cohort::threads>(2, [&](cohort::communicator& world) {
    auto training =
        cohort::trainer<Backend>(cohort::graph::build([](cohort::builder& net) {
                                   return net.input({4}) | cohort::dense{.units = 8} | cohort::sigmoid{}
                                          | cohort::dense{.units = 3} | cohort::softmax_cross_entropy{};
                                 }),
                                 world, how, {.optimizer = {cohort::sgd{.learning_rate = 0.1}}, .seed = 1});
    training.fit(data, {.batch = 8, .epochs = 2});
    if (world.rank() == 0) checksum = training.checksum();
  });
  return checksum;
}
