// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs with and without sharded state, over any communicator.
#include <cohort/communicator/launch.hpp>
#include <cohort/training/checkpoints.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>
#include "../checkpoint/scratch_folder.hpp"
#include "rank_cases.hpp"

namespace cohort_test {

namespace shards {

/// Two buckets: the first is divided, in two halves; the second is too small for parts.
inline constexpr auto tall = network<[](builder& net) {
  return net.input({1, 8, 8}) | dense{.units = 24} | relu{} | dense{.units = 656} | batch_norm{} | relu{}
         | dense{.units = 480} | relu{} | dense{.units = 3} | softmax_cross_entropy{};
}>();

/// Five buckets, of which four are divided for up to four ranks.
inline constexpr auto deep = network<[](builder& net) {
  tensor x = net.input({1, 8, 8}) | dense{.units = 512};
  for (int layer = 0; layer < 8; ++layer) x = x | relu{} | dense{.units = 512};
  return x | dense{.units = 3} | softmax_cross_entropy{};
}>();

inline training_settings settings_of(optimizer_settings how, int workers = 1) {
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

inline std::string model_of(training& run) {
  std::ostringstream file;
  run.save(file, true);
  return std::move(file).str();
}

struct checksums final : listener {
  std::vector<std::string> all;
  void on_step(training& run, step_report const&) override { all.push_back(run.checksum()); }
};

template <class B = narrow, auto const& net = tall>
finished run_of(communicator& world, shard what, training_settings const& settings, int accumulate = 1,
                int examples_per_class = 4) {
  bright_thirds const examples(examples_per_class * 3 * world.size() + 5);
  checksums seen;
  training made = trainer<B>(net, world, allreduce{.resync = 2, .shard = what}, settings);
  made.fit(examples.data(), {.batch = 4, .epochs = 1, .accumulate = accumulate, .listeners = {&seen}});
  EXPECT_TRUE(same_text(world, made.checksum()));
  return {seen.all, model_of(made), world.sent()};
}

/// Runs with and without shards have the same bits.
inline void runs_with_and_without_shards_are_equal(communicator& world) {
  training_settings const settings =
      settings_of({.rule = lamb{.learning_rate = 0.01}, .normalisation = normalise::clip_global_norm{1}}, 2);
  finished const whole = run_of(world, shard::nothing, settings);
  for (shard const what : {shard::optimizer_state, shard::gradients})
    EXPECT_EQ(run_of(world, what, settings), whole);
}

/// A checkpoint of each number of ranks is continued by each number of ranks.
inline void resumes_with_other_ranks(std::vector<int> const& numbers) {
  scratch_folder const folder;
  auto const train = [&](communicator& world, shard what, std::string const& from, std::string const& to) {
    bright_thirds const examples(8 * world.size());
    training run = trainer<narrow>(tall, world, allreduce{.shard = what},
                                   settings_of({.rule = adam{.learning_rate = 0.01}}));
    if (!from.empty()) {
      EXPECT_TRUE(resume(run, from));
      EXPECT_GT(run.epoch(), 0);
    }
    run.fit(examples.data(), {.batch = 8});
    if (!to.empty()) save_checkpoint(run, to);
    return model_of(run);
  };
  std::vector<std::string> saved;
  for (int const ranks : numbers) {
    saved.push_back(folder / std::to_string(ranks));
    launch<threads>(ranks, {.deadline = std::chrono::seconds(60)},
                    [&](communicator& world) { train(world, shard::optimizer_state, "", saved.back()); });
  }
  for (std::string const& from : saved)
    for (int const ranks : numbers)
      launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
        std::string const whole = train(world, shard::nothing, from, "");
        EXPECT_EQ(train(world, shard::gradients, from, ""), whole) << from << ", " << ranks << " ranks";
      });
}

}  // namespace shards

}  // namespace cohort_test
