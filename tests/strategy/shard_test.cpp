// SPDX-License-Identifier: Apache-2.0
// Runs with sharded optimizer state have the same bits as runs without shards.
#include <cohort/communicator/launch.hpp>
#include <cohort/strategy/detail/split_allreduce.hpp>
#include <cohort/training/training_loop.hpp>
#include <sstream>
#include "../checkpoint/scratch_folder.hpp"
#include "rank_cases.hpp"

namespace shard_test {

using namespace cohort_test;

/// Three buckets: the second is summed in two halves, and the last one is too small for parts.
constexpr auto tall = network<[](builder& net) {
  return net.input({1, 8, 8}) | dense{.units = 24} | relu{} | dense{.units = 656} | batch_norm{} | relu{}
         | dense{.units = 480} | relu{} | dense{.units = 3} | softmax_cross_entropy{};
}>();

training_settings settings_of(optimizer_settings how, int workers = 1) {
  return {.optimizer = std::move(how), .seed = 7, .workers = workers};
}

struct finished {
  std::vector<std::string> checksums{};
  std::string model{};
  traffic sent{};
  bool operator==(finished const& other) const {
    return checksums == other.checksums && model == other.model;
  }
};

std::string model_of(training& run) {
  std::ostringstream file;
  run.save(file, true);
  return std::move(file).str();
}

struct checksums final : listener {
  std::vector<std::string> all;
  void on_step(training& run, step_report const&) override { all.push_back(run.checksum()); }
};

template <class B = narrow>
finished run_of(communicator& world, shard what, training_settings const& settings, int accumulate = 1,
                int examples_per_class = 4) {
  bright_thirds const examples(examples_per_class * 3 * world.size() + 5);
  checksums seen;
  training made = trainer<B>(tall, world, allreduce{.resync = 2, .shard = what}, settings);
  made.fit(examples.data(), {.batch = 4, .epochs = 1, .accumulate = accumulate, .listeners = {&seen}});
  EXPECT_TRUE(same_text(world, made.checksum()));
  return {seen.all, model_of(made), world.sent()};
}

class sharded : public testing::TestWithParam<int> {
 protected:
  template <class Body>
  void on_all(Body body) {
    launch<threads>(GetParam(), {.deadline = std::chrono::seconds(60)}, body);
  }
  /// Requires equal runs with and without shards on all ranks.
  void compare(training_settings const& settings, int accumulate = 1) {
    auto const trained = [&](shard what) {
      std::vector<finished> all(static_cast<std::size_t>(GetParam()));
      on_all([&](communicator& world) {
        all[static_cast<std::size_t>(world.rank())] = run_of(world, what, settings, accumulate);
      });
      return all;
    };
    std::vector<finished> const whole = trained(shard::nothing);
    EXPECT_GE(whole[0].checksums.size(), 3U);
    for (shard const what : {shard::optimizer_state, shard::gradients}) EXPECT_EQ(trained(what), whole);
  }
};
INSTANTIATE_TEST_SUITE_P(ranks, sharded, testing::Values(1, 2, 3, 4, 8));

TEST_P(sharded, is_bitwise_equal_for_each_kind_of_update) {
  compare(settings_of({.rule = adam{.learning_rate = 0.01}}));
  compare(settings_of(
      {.rule = amsgrad{.learning_rate = 0.01}, .normalisation = normalise::clip_global_norm{0.1}}));
  compare(
      settings_of({.rule = lamb{.learning_rate = 0.01}, .normalisation = normalise::clip_global_norm{1}}));
  compare(settings_of({.rule = lars{.learning_rate = 0.1}}));
}

TEST_P(sharded, is_bitwise_equal_with_workers_and_micro_batches) {
  compare(settings_of({.rule = nesterov{}, .normalisation = normalise::clip_l2_per_layer{0.05}}, 2));
  compare(settings_of({.rule = lamb{.learning_rate = 0.01}}, 2), 2);
  compare(settings_of({.rule = adam{.learning_rate = 0.01}}), 2);
}

TEST_P(sharded, is_bitwise_equal_with_constraints_and_an_average_of_the_parameters) {
  training_settings settings =
      settings_of({.rule = adam{.learning_rate = 0.01}, .constraint = constraint::max_norm{0.5}}, 2);
  settings.average_decay = 0.9;
  compare(settings);
}

}  // namespace shard_test
