// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs with and without sharded state, over any communicator.
#include <cohort/communicator/launch.hpp>
#include <cohort/training/checkpoints.hpp>
#include <limits>
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

/// A run on one rank. With when_not_finite::skip, a step is skipped. `late`: shards are gathered in the next
/// forward, and no listener reads the parameters.
template <class B = narrow, auto const& net = tall>
finished run_of(communicator& world, shard what, training_settings const& settings, int accumulate = 1,
                bool late = false) {
  bright_thirds examples(12 * world.size() + 5);
  if (settings.not_finite == when_not_finite::skip)  // the first layer's sums overflow, if late in step 1
    std::fill_n(examples.pixels.begin() + 64 * 6 * world.size(), 64, std::numeric_limits<float>::max());
  checksums seen;
  allreduce const how{.resync = 3, .overlap_next_forward = late && what != shard::nothing, .shard = what};
  training made = trainer<B>(net, world, how, settings);
  fit_settings steps{.batch = 4, .epochs = 1, .shuffle = !late, .accumulate = accumulate};
  if (!late) steps.listeners.push_back(&seen);
  fit_report const done = made.fit(examples.data(), steps);
  EXPECT_EQ(done.skipped, settings.not_finite == when_not_finite::skip ? 1 : 0);
  seen.all.push_back(made.checksum());
  EXPECT_TRUE(same_text(world, seen.all.back()));
  return {seen.all, model_of(made), world.sent()};
}

/// Runs with and without shards have the same bits.
inline void runs_with_and_without_shards_are_equal(communicator& world) {
  auto const compare = [&](training_settings const& settings, int accumulate, bool late) {
    finished const whole = run_of(world, shard::nothing, settings, accumulate, late);
    for (shard const what : {shard::optimizer_state, shard::gradients})
      EXPECT_EQ(run_of(world, what, settings, accumulate, late), whole);
  };
  compare(
      settings_of({.rule = lamb{.learning_rate = 0.01}, .normalisation = normalise::clip_global_norm{1}}, 2),
      1, false);
  compare(
      settings_of({.rule = adam{.learning_rate = 0.01}, .normalisation = normalise::clip_l2_per_layer{0.05}}),
      2, false);
  compare(settings_of({.rule = adam{.learning_rate = 0.01}}), 2, true);
}

/// Requires equal runs with and without shards on all ranks.
template <class B = narrow, auto const& net = tall>
void compare_runs(int ranks, training_settings const& settings, int accumulate = 1, bool late = false) {
  auto const trained = [&](shard what) {
    std::vector<finished> all(static_cast<std::size_t>(ranks));
    launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
      all[static_cast<std::size_t>(world.rank())] = run_of<B, net>(world, what, settings, accumulate, late);
    });
    return all;
  };
  std::vector<finished> const whole = trained(shard::nothing);
  EXPECT_GE(whole[0].checksums.size(), late ? 1U : 3U);
  for (shard const what : {shard::optimizer_state, shard::gradients}) EXPECT_EQ(trained(what), whole);
}

/// Each optimizer with settings that `variant` selects: normalisation of the gradient, number of workers,
/// micro-batches, and a step that is skipped.
inline void each_optimizer_is_bitwise_equal(int ranks, int variant) {
  constexpr double rate = 0.01;
  optimizer_rule const rules[]{sgd{.learning_rate = rate},
                               momentum{.learning_rate = rate},
                               nesterov{.learning_rate = rate},
                               adam{.learning_rate = rate},
                               adamw{.learning_rate = rate},
                               amsgrad{.learning_rate = rate},
                               adamax{.learning_rate = rate},
                               nadam{.learning_rate = rate},
                               adabelief{.learning_rate = rate},
                               adagrad{.learning_rate = rate},
                               adadelta{},
                               rmsprop{.learning_rate = rate},
                               lion{.learning_rate = rate},
                               lamb{.learning_rate = rate},
                               lars{.learning_rate = rate},
                               no_op{}};
  gradient_normalisation const norms[]{normalise::none{}, normalise::clip_global_norm{0.1},
                                       normalise::clip_l2_per_layer{0.05}, normalise::clip_elementwise{0.01},
                                       normalise::renormalize_l2_per_parameter{}};
  for (optimizer_rule const& rule : rules) {
    int const k = variant++;
    training_settings settings =
        settings_of({.rule = rule, .normalisation = norms[k % std::ssize(norms)]}, 1 + k / 2 % 2);
    settings.not_finite = k % 3 == 0 ? when_not_finite::skip : when_not_finite::stop;
    SCOPED_TRACE(testing::Message() << rule.name() << ", variant " << k << ", " << ranks << " ranks");
    compare_runs(ranks, settings, 1 + k / 4 % 2);
  }
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
