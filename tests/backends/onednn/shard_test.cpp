// SPDX-License-Identifier: Apache-2.0
// uses: onednn
// Sharded updates of parameters in blocked layouts, and of the f32 parameters of bf16 kernels.
#include <gtest/gtest.h>
#include <cohort/communicator/launch.hpp>
#include <cohort/onednn.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/training/trainer.hpp>
#include <string>
#include <vector>
#include "../../training/bright_thirds.hpp"

namespace onednn_shard_test {

using namespace cohort_test;

constexpr auto broad = network<[](builder& net) {
  return net.input({1, 8, 8}) | conv2d{.filters = 8, .kernel = 3, .padding = 1} | batch_norm{} | relu{}
         | dense{.units = 656} | relu{} | dense{.units = 480} | relu{} | dense{.units = 3}
         | softmax_cross_entropy{};
}>();

template <class B>
void expect_the_same_bits(int ranks, int workers) {
  bright_thirds const examples(100);
  launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    struct looking final : listener {
      std::vector<std::string> seen;
      void on_step(training& run, step_report const&) override { seen.push_back(run.checksum()); }
    };
    auto const checksums = [&](shard what) {
      looking steps;
      optimizer_settings const how{.rule = adam{.learning_rate = 0.002},
                                   .normalisation = normalise::clip_global_norm{0.2}};
      training run = trainer<B>(broad, world, allreduce{.resync = 3, .shard = what},
                                {.optimizer = how, .seed = 7, .workers = workers});
      run.fit(examples.data(), {.batch = 8, .listeners = {&steps}});
      return steps.seen;
    };
    std::vector<std::string> const whole = checksums(shard::nothing);
    EXPECT_GT(whole.size(), 3U);
    EXPECT_EQ(checksums(shard::optimizer_state), whole);
    EXPECT_EQ(checksums(shard::gradients), whole);
  });
}

TEST(onednn_shard, is_bitwise_equal_to_whole_state) {
  for (int const ranks : {2, 3})
    for (int const workers : {1, 2}) expect_the_same_bits<onednn>(ranks, workers);
}
TEST(onednn_shard, is_bitwise_equal_to_whole_state_in_bf16) {
  if (!onednn_bf16::probe().usable) GTEST_SKIP() << onednn_bf16::probe().reason;
  for (int const workers : {1, 2}) expect_the_same_bits<onednn_bf16>(3, workers);
}

}  // namespace onednn_shard_test
