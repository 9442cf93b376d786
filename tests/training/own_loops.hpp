// SPDX-License-Identifier: Apache-2.0
#pragma once
// Strategies, networks and batches for loops that must give the same bits as fit.
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/parameter_averaging.hpp>
#include <cohort/strategy/threshold_sharing.hpp>
#include <cohort/strategy/top_k_sharing.hpp>
#include <cohort/training/trainer.hpp>
#include <string>
#include <vector>
#include "bright_thirds.hpp"

namespace cohort_test {

/// A network with running statistics and with dropout masks that are keyed by example.
inline constexpr auto with_everything = network<[](builder& net) {
  return net.input({1, 8, 8}) | conv2d{.filters = 4, .kernel = 3} | batch_norm{} | relu{}
         | max_pool{.window = 2} | dropout{.rate = 0.25} | dense{.units = 10} | relu{} | dense{.units = 3}
         | softmax_cross_entropy{};
}>();

/// Calls step(batch) for the batches of `epochs` epochs, in the order of fit, and ends each epoch.
template <class Step>
void for_each_batch(training& run, dataset const& data, int batch_size, int epochs, Step step) {
  loader batches(data, {.batch = batch_size,
                        .rank = run.world().rank(),
                        .ranks = run.world().size(),
                        .seed = run.settings().seed});
  for (int e = 0; e < epochs; ++e) {
    batches.start(run.epoch());
    while (batch const* const next = batches.next()) step(*next);
    run.end_epoch();
  }
}

/// Calls check(strategy) for strategies of every kind.
template <class Check>
void for_every_strategy(Check check) {
  check(allreduce{.resync = 3});
  check(allreduce{.overlap_next_forward = true});
  check(allreduce{.wire = element_type::bf16});
  check(parameter_averaging{.every = 3});
  check(parameter_averaging{.every = 2, .outer = {.rate = 0.9}, .overlap = true});
  check(threshold_sharing{.threshold = threshold::fixed{1e-3}});
  check(threshold_sharing{.threshold = threshold::fixed{1e-3}, .settings = {.max_staleness = 2}});
  check(threshold_sharing{.threshold = threshold::fixed{1e-3}, .settings = {.share = share::update}});
  check(top_k_sharing{.density = 0.05, .settings = {.warm_up = 2}});
}

/// Checksums of the ranks after train(run).
template <class Strategy, class Train>
std::vector<std::string> checksums_of(int ranks, Strategy const& how, training_settings const& settings,
                                      Train train) {
  std::vector<std::string> sums(static_cast<std::size_t>(ranks));
  launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    training run = trainer<reference<float>>(with_everything, world, how, settings);
    train(run);
    sums[static_cast<std::size_t>(world.rank())] = run.checksum();
  });
  return sums;
}

}  // namespace cohort_test
