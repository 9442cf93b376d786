// SPDX-License-Identifier: Apache-2.0
// Runs with sharded optimizer state have the same bits as runs without shards.
#include <cohort/communicator/launch.hpp>
#include <cohort/training/training_loop.hpp>
#include "../checkpoint/scratch_folder.hpp"
#include "shard_cases.hpp"

namespace shard_test {

using namespace cohort_test;

using namespace shards;

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
