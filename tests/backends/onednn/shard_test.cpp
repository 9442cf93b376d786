// SPDX-License-Identifier: Apache-2.0
// uses: onednn
// Sharded updates of parameters in blocked layouts, and of the f32 parameters of bf16 kernels.
#include <gtest/gtest.h>
#include <algorithm>
#include <cohort/communicator/launch.hpp>
#include <cohort/onednn.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/training/trainer.hpp>
#include <limits>
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

/// Four buckets, of which the last layers' may be late.
constexpr auto deep = network<[](builder& net) {
  tensor x = net.input({1, 8, 8}) | dense{.units = 512};
  for (int layer = 0; layer < 6; ++layer) x = x | relu{} | dense{.units = 512};
  return x | dense{.units = 3} | softmax_cross_entropy{};
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

/// No listener reads the parameters, so the last layers' parameters are gathered in the next forward.
template <class B>
void expect_the_same_bits_if_late(int workers, when_not_finite otherwise) {
  bright_thirds examples(100);
  if (otherwise == when_not_finite::skip)
    std::fill_n(examples.pixels.begin() + 64 * 40, 64, std::numeric_limits<float>::max());
  launch<threads>(3, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    auto const checksum = [&](allreduce const& how) {
      training run = trainer<B>(deep, world, how,
                                {.optimizer = {.rule = adam{.learning_rate = 0.002}},
                                 .seed = 7,
                                 .workers = workers,
                                 .not_finite = otherwise});
      fit_report const done = run.fit(examples.data(), {.batch = 8, .shuffle = false});
      EXPECT_EQ(done.skipped, otherwise == when_not_finite::skip ? 1 : 0);
      return run.checksum();
    };
    std::string const whole = checksum({});
    for (shard const what : {shard::optimizer_state, shard::gradients})
      EXPECT_EQ(checksum({.overlap_next_forward = true, .shard = what}), whole);
  });
}

TEST(onednn_shard, is_bitwise_equal_in_bf16_if_parameters_are_gathered_in_the_next_forward) {
  if (!onednn_bf16::probe().usable) GTEST_SKIP() << onednn_bf16::probe().reason;
  for (int const workers : {1, 2}) expect_the_same_bits_if_late<onednn_bf16>(workers, when_not_finite::stop);
  expect_the_same_bits_if_late<onednn_bf16>(1, when_not_finite::skip);
}

}  // namespace onednn_shard_test
