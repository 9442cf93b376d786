// SPDX-License-Identifier: Apache-2.0
// uses: onednn
// Sharded updates of parameters in blocked layouts, and of the f32 parameters of bf16 kernels.
#include <gtest/gtest.h>
#include <algorithm>
#include <cohort/communicator/launch.hpp>
#include <cohort/monitoring/html_report_listener.hpp>
#include <cohort/monitoring/tensorboard_listener.hpp>
#include <cohort/onednn.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/training/checkpoints.hpp>
#include <cohort/training/early_stopping_listener.hpp>
#include <cohort/training/trainer.hpp>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>
#include "../../checkpoint/refusals.hpp"
#include "../../checkpoint/scratch_folder.hpp"
#include "../../strategy/resident_bytes.hpp"
#include "../../training/bright_thirds.hpp"

namespace onednn_shard_test {

using namespace cohort_test;

constexpr auto broad = network<[](builder& net) {
  return net.input({1, 8, 8}) | conv2d{.filters = 8, .kernel = 3, .padding = 1} | batch_norm{} | relu{}
         | dense{.units = 656} | relu{} | dense{.units = 480} | relu{} | dense{.units = 3}
         | softmax_cross_entropy{};
}>();

/// At least five buckets that are divided; those of the last layers may be late.
constexpr auto deep = network<[](builder& net) {
  tensor x = net.input({1, 8, 8}) | dense{.units = 512};
  for (int layer = 0; layer < 10; ++layer) x = x | relu{} | dense{.units = 512};
  return x | dense{.units = 3} | softmax_cross_entropy{};
}>();

template <class B>
void expect_the_same_bits(int ranks, int workers) {
  bright_thirds const examples(100);
  launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    struct looking final : listener {
      std::vector<std::string> seen;
      void on_step(training& run, step_report const&) override {
        run.gather_parameters();
        seen.push_back(run.checksum());
      }
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

class divided_parameters : public testing::Test {
 protected:
  static training run_of(communicator& world, shard what, int workers = 1) {
    return trainer<onednn_bf16>(
        deep, world, allreduce{.resync = 2, .shard = what},
        {.optimizer = {.rule = adam{.learning_rate = 0.002}}, .seed = 7, .workers = workers});
  }
  static std::string model_of(training& run, bool optimizer_state) {
    std::ostringstream file;
    run.save(file, optimizer_state);
    return std::move(file).str();
  }
  void SetUp() override {
    if (!onednn_bf16::probe().usable) GTEST_SKIP() << onednn_bf16::probe().reason;
  }
  template <class Body>
  static void on_all(int ranks, Body body) {
    launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, body);
  }
  bright_thirds examples{100};
  fit_settings steps{.batch = 8};
};

TEST_F(divided_parameters, evaluate_predict_and_save_like_whole_ones) {
  for (int const workers : {1, 2})
    on_all(3, [&](communicator& world) {
      training whole = run_of(world, shard::nothing, workers),
               divided = run_of(world, shard::gradients, workers);
      for (int epoch = 0; epoch < 2; ++epoch) {
        whole.fit(examples.data(), steps);
        divided.fit(examples.data(), steps);
        EXPECT_FALSE(divided.parameters().is_whole());
        for (int const count : {1, 5}) {
          tensor_view const some(examples.pixels.data(), shape{count, 1, 8, 8});
          EXPECT_EQ(divided.predict(some).values, whole.predict(some).values);
        }
        EXPECT_EQ(divided.evaluate(examples.data()).accuracy(), whole.evaluate(examples.data()).accuracy());
        for (bool const optimizer_state : {false, true})
          EXPECT_EQ(model_of(divided, optimizer_state), model_of(whole, optimizer_state));
        EXPECT_FALSE(divided.parameters().is_whole());
        divided.gather_parameters();
        EXPECT_EQ(divided.checksum(), whole.checksum());
      }
    });
}

TEST_F(divided_parameters, are_unchanged_by_a_step_that_is_skipped) {
  std::fill_n(examples.pixels.begin() + 64 * 40, 64, std::numeric_limits<float>::max());
  steps.shuffle = false;
  on_all(3, [&](communicator& world) {
    auto const checksum = [&](shard what) {
      training run = trainer<onednn_bf16>(deep, world, allreduce{.shard = what},
                                          {.seed = 7, .not_finite = when_not_finite::skip});
      EXPECT_EQ(run.fit(examples.data(), steps).skipped, 1);
      run.gather_parameters();
      return run.checksum();
    };
    EXPECT_EQ(checksum(shard::gradients), checksum(shard::nothing));
  });
}

TEST_F(divided_parameters, are_read_by_a_rank_alone_only_after_they_were_gathered) {
  on_all(3, [&](communicator& world) {
    training run = run_of(world, shard::gradients);
    run.fit(examples.data(), steps);
    if (world.rank() == 1)
      EXPECT_NE(refusal_of<setting_error>([&] { run.checksum(); }).find("training::gather_parameters"),
                std::string::npos);
    run.gather_parameters();
    if (world.rank() == 1) EXPECT_EQ(run.checksum().size(), 16U);
    run.fit(examples.data(), steps);
    EXPECT_THROW(run.checksum(), setting_error);
  });
}

TEST_F(divided_parameters, free_the_memory_of_other_ranks_parts) {
  on_all(4, [&](communicator& world) {
    training run = run_of(world, shard::gradients), whole = run_of(world, shard::optimizer_state);
    std::size_t const forecast = run.memory_of(examples.data(), steps).parameters,
                      arena = whole.memory_of(examples.data(), steps).parameters;
    EXPECT_LT(forecast, arena);
    run.fit(examples.data(), steps);
    parameter_set const& parameters = run.parameters();
    EXPECT_LT(resident_bytes(parameters.master(), parameters.arena_bytes()), forecast);
    EXPECT_LT(resident_bytes(parameters.master(), parameters.arena_bytes()), arena / 2);
  });
}

TEST_F(divided_parameters, are_omitted_by_listeners_of_which_only_the_first_rank_reads_them) {
  scratch_folder const folder;
  on_all(2, [&](communicator& world) {
    training run = run_of(world, shard::gradients);
    tensorboard_listener board(folder / "board", {.histograms_every = 1, .lines = {}});
    html_report_listener page(folder / "report.html", {.ratios_every = 1});
    early_stopping_listener stopping(metrics::loss, {.restore_best = true, .lines = {}});
    fit_settings const how{
        .batch = 8, .validation = examples.data(), .listeners = {&board, &page, &stopping}};
    EXPECT_NO_THROW(run.fit(examples.data(), how));
    EXPECT_TRUE(run.parameters().is_whole()) << "the best parameters were restored";
  });
}

TEST_F(divided_parameters, stay_whole_with_constraints_an_average_or_late_gathering) {
  on_all(2, [&](communicator& world) {
    auto const is_whole = [&](training_settings settings, bool late) {
      settings.seed = 7;
      training run = trainer<onednn_bf16>(
          deep, world, allreduce{.overlap_next_forward = late, .shard = shard::gradients}, settings);
      run.fit(examples.data(), steps);
      return run.parameters().is_whole();
    };
    EXPECT_FALSE(is_whole({}, false));
    EXPECT_TRUE(is_whole({}, true));
    EXPECT_TRUE(is_whole({.average_decay = 0.9}, false));
    EXPECT_TRUE(is_whole({.optimizer = {.constraint = constraint::max_norm{0.5}}}, false));
  });
}

TEST_F(divided_parameters, resume_with_another_number_of_ranks) {
  scratch_folder const folder;
  on_all(3, [&](communicator& world) {
    training run = run_of(world, shard::gradients);
    run.fit(examples.data(), steps);
    save_checkpoint(run, folder.path());
  });
  for (int const ranks : {1, 2, 3})
    on_all(ranks, [&](communicator& world) {
      auto const checksum = [&](shard what) {
        training run = run_of(world, what);
        EXPECT_TRUE(resume(run, folder.path()));
        EXPECT_EQ(run.epoch(), 1);
        run.fit(examples.data(), steps);
        run.gather_parameters();
        return run.checksum();
      };
      EXPECT_EQ(checksum(shard::gradients), checksum(shard::nothing)) << ranks << " ranks";
    });
}

}  // namespace onednn_shard_test
