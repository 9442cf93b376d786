// SPDX-License-Identifier: Apache-2.0
// Runs with sharded optimizer state have the same bits as runs without shards.
#include <atomic>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/training/checkpoint_listener.hpp>
#include <cohort/training/checkpoints.hpp>
#include <cohort/training/detail/model_transfer.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/training_loop.hpp>
#include <fstream>
#include "../checkpoint/refusals.hpp"
#include "../checkpoint/scratch_folder.hpp"
#include "../checkpoint/small_disk.hpp"
#include "../long_tests.hpp"
#include "resident_bytes.hpp"
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
  template <class B = narrow, auto const& net = tall>
  void compare(training_settings const& settings, int accumulate = 1, bool late = false) {
    compare_runs<B, net>(GetParam(), settings, accumulate, late);
  }
};
// 8 ranks on two processors take most of the time.
INSTANTIATE_TEST_SUITE_P(ranks, sharded,
                         testing::ValuesIn(long_tests() ? std::vector{1, 2, 3, 8} : std::vector{1, 2, 3}));

TEST_P(sharded, is_bitwise_equal_for_each_kind_of_update) {
  compare(settings_of({.rule = adam{.learning_rate = 0.01}}));
  compare(settings_of(
      {.rule = amsgrad{.learning_rate = 0.01}, .normalisation = normalise::clip_global_norm{0.1}}));
  compare(
      settings_of({.rule = lamb{.learning_rate = 0.01}, .normalisation = normalise::clip_global_norm{1}}));
  compare(settings_of({.rule = lars{.learning_rate = 0.1}}));
}

TEST(sharded, is_bitwise_equal_for_each_optimizer) { each_optimizer_is_bitwise_equal(3, 0); }

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

TEST_P(sharded, is_bitwise_equal_with_several_divided_buckets) {
  for (int const workers : {1, 2})
    compare<narrow, deep>(settings_of(
        {.rule = adam{.learning_rate = 0.001}, .normalisation = normalise::clip_global_norm{0.5}}, workers));
}

TEST_P(sharded, is_bitwise_equal_if_parameters_are_gathered_in_the_next_forward) {
  for (int const workers : {1, 2})
    compare<narrow, deep>(settings_of({.rule = adam{.learning_rate = 0.001}}, workers), workers, true);
  compare<narrow, deep>(
      settings_of({.rule = lamb{.learning_rate = 0.001}, .normalisation = normalise::clip_global_norm{0.5}}),
      1, true);
}

TEST_P(sharded, is_bitwise_equal_if_a_step_is_skipped_while_parameters_are_gathered) {
  training_settings settings = settings_of({.rule = adam{.learning_rate = 0.001}});
  settings.not_finite = when_not_finite::skip;
  compare<narrow, deep>(settings, 1, true);
}

TEST_P(sharded, is_bitwise_equal_in_f64_and_with_a_frozen_layer) {
  compare<wide>(settings_of({.rule = adam{.learning_rate = 0.01}}));
  compare(settings_of({.rule = adagrad{.initial = 0.1}, .layers = {{.layer = "dense_1", .frozen = true}}}));
}

TEST_P(sharded, divides_the_state_of_a_step_and_sends_the_same_bytes) {
  on_all([&](communicator& world) {
    training_settings const settings = settings_of({.rule = adam{}});
    bright_thirds const examples(4 * world.size());
    auto const trained = [&](shard what) {
      return trainer<narrow>(tall, world, allreduce{.resync = 0, .shard = what}, settings);
    };
    training whole = trained(shard::nothing), divided = trained(shard::optimizer_state);
    fit_settings const how{.batch = 4, .epochs = 3};
    auto const bytes_of_fit = [&](training& run) {
      run.fit(examples.data(), how);  // with the broadcast of the first step
      std::uint64_t const before = world.sent().bytes_sent;
      run.fit(examples.data(), how);
      return static_cast<double>(world.sent().bytes_sent - before);
    };
    double const plain = bytes_of_fit(whole), bytes = bytes_of_fit(divided);
    EXPECT_LE(std::abs(bytes - plain), 0.01 * plain);
    run_memory const before = whole.memory_of(examples.data(), how),
                     after = divided.memory_of(examples.data(), how);
    EXPECT_EQ(before.gradients, after.gradients);
    EXPECT_LT(after.optimizer_state, before.optimizer_state / static_cast<std::size_t>(world.size()) * 3 / 2);
    std::uint64_t sum = after.optimizer_state;  // all elements, some on several ranks
    world.allreduce(std::span(&sum, 1));
    EXPECT_GE(sum, before.optimizer_state);
  });
}

TEST(sharded_gradients, free_the_memory_of_other_ranks_parts) {
  launch<threads>(4, [](communicator& world) {
    training_settings const settings = settings_of({.rule = sgd{}});
    bright_thirds const examples(32);
    training run = trainer<narrow>(deep, world, allreduce{.shard = shard::gradients}, settings);
    fit_settings const how{.batch = 4, .epochs = 2};
    run_memory const memory = run.memory_of(examples.data(), how);
    std::size_t const arena = run.parameters().arena_bytes();
    EXPECT_LT(memory.gradients, arena);
    EXPECT_EQ(run.memory_of(examples.data(), {.batch = 4, .accumulate = 2}).gradients, arena);
    run.fit(examples.data(), how);
    std::size_t resident = 0;
    for (std::byte const* const part : run.state().workers->gradients().all())
      resident += resident_bytes(part, arena);
    EXPECT_LT(resident, memory.gradients);
  });
}

TEST(saved_model, is_copied_only_on_the_ranks_that_write_or_send_it) {
  for (shard const what : {shard::nothing, shard::optimizer_state})
    launch<threads>(2, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
      bright_thirds const examples(16);
      training run = trainer<narrow>(tall, world, allreduce{.shard = what}, settings_of({.rule = adam{}}));
      run.fit(examples.data(), {.batch = 4});
      model_content const content = detail::consensus_model(run.state(), true, false);
      EXPECT_EQ(content.tensors().empty(), what == shard::nothing && world.rank() == 1);
    });
}

struct unsaved_listener final : listener {
  std::string name() const override { return "unsaved"; }
  std::string state() const override { return "\xff"; }
  void restore(std::string_view) override {}
};

TEST(sharded, fails_on_all_ranks_if_the_first_rank_cannot_save_a_listener) {
  scratch_folder const folder;
  launch<threads>(2, {.deadline = std::chrono::minutes(10)}, [&](communicator& world) {
    bright_thirds const examples(16);
    training run = trainer<narrow>(tall, world, allreduce{.shard = shard::optimizer_state},
                                   settings_of({.rule = adam{}}));
    unsaved_listener unsaved;
    checkpoint_listener saving(folder.path(), 1, 1, {});
    run.fit(examples.data(), {.batch = 4, .epochs = 1, .listeners = {&unsaved, &saving}});
    EXPECT_NE(saving.last_error().find("UTF-8"), std::string::npos) << saving.last_error();
    EXPECT_NO_THROW(run.save(folder / "model.safetensors", true));  // the ranks are still in step
  });
}

TEST(sharded, counts_only_its_part_towards_the_allowed_memory) {
  launch<threads>(4, [](communicator& world) {
    training_settings settings = settings_of({.rule = adam{}});
    allreduce const how{.shard = shard::optimizer_state};
    bright_thirds const examples(32);
    fit_settings const one_epoch{.batch = 4};
    run_memory const memory =
        trainer<narrow>(tall, world, how, settings).memory_of(examples.data(), one_epoch);
    std::size_t const least = memory.parameters + memory.gradients + memory.optimizer_state;
    settings.max_bytes = least - 1;
    EXPECT_THROW(trainer<narrow>(tall, world, how, settings), memory_error);
    settings.max_bytes = least + memory.activations + memory.working_copies;
    EXPECT_NO_THROW(trainer<narrow>(tall, world, how, settings).fit(examples.data(), one_epoch));
    EXPECT_THROW(trainer<narrow>(tall, world, allreduce{}, settings), memory_error);
  });
}

TEST(sharded, refuses_settings_that_need_whole_state) {
  launch<threads>(2, [](communicator& world) {
    for (allreduce const& how :
         {allreduce{.wire = element_type::f32, .shard = shard::gradients},
          allreduce{.diverged = when_diverged::repair, .shard = shard::optimizer_state}})
      EXPECT_NE(refusal_of<setting_error>([&] { how.on(world); }).find("allreduce."), std::string::npos);
  });
}

TEST(sharded, refuses_ranks_with_different_layouts_on_all_ranks) {
  launch<threads>(2, [](communicator& world) {
    allreduce const how{.shard = shard::optimizer_state};
    bright_thirds const examples(16);
    training run = world.rank() == 0 ? trainer<narrow>(tall, world, how, with_state())
                                     : trainer<other_order>(tall, world, how, with_state());
    for (int again = 0; again < 2; ++again) {
      std::string const said = refusal_of<setting_error>([&] { run.fit(examples.data(), {.batch = 4}); });
      EXPECT_NE(said.find("allreduce.shard"), std::string::npos) << said;
    }
  });
}

TEST(sharded, refuses_access_to_the_whole_gradient) {
  launch<threads>(2, [](communicator& world) {
    bright_thirds const examples(16);
    training run = trainer<narrow>(tall, world, allreduce{.shard = shard::optimizer_state}, with_state());
    run.fit(examples.data(), {.batch = 4});
    EXPECT_NE(refusal_of<setting_error>([&] { run.last_gradient("dense_1"); }).find("a part of the gradient"),
              std::string::npos);
    training_loop loop(run);
    loader batches(examples.data(), {.batch = 4});
    batches.start(0);
    EXPECT_NE(
        refusal_of<setting_error>([&] { loop.forward(*batches.next()); }).find("training_loop::forward"),
        std::string::npos);
  });
}

TEST(sharded, stops_all_ranks_for_a_non_finite_number_and_skips_its_step) {
  launch<threads>(3, {.deadline = std::chrono::seconds(60)}, [](communicator& world) {
    for (shard const what : {shard::optimizer_state, shard::gradients})
      a_number_that_is_not_finite_stops_all_and_is_named<tall>(world, false, {.shard = what});
  });
}

/// Forwards everything to a sharded allreduce. In one step, rank 1 gets an infinite sum, or fails after the
/// sums.
struct spoiling final : strategy {
  explicit spoiling(communicator& all, bool fails = false, bool late = false)
      : world(all),
        fails(fails),
        real(allreduce{.overlap_next_forward = late, .shard = shard::gradients}.on(all)) {}
  void begin(step_info const& now, replica const& mine) override { real->begin(now, mine); }
  void ready(step_info const& now, bucket const& one, gradient_parts& parts) override {
    real->ready(now, one, parts);
  }
  bool before_update(step_info const& now, gradient_parts& parts) override {
    bool const takes = real->before_update(now, parts);
    if (now.step != 1 || world.rank() != 1) return takes;
    if (fails) throw data_error({.what = "the shelf is empty"});
    reinterpret_cast<float*>(parts.first())[real->shard(parts.parameters(), 1)->front().offset] =
        std::numeric_limits<float>::infinity();
    return takes;
  }
  std::optional<state_shard> shard(parameter_set const& all, int rank) const override {
    return real->shard(all, rank);
  }
  shard_exchange* shard_ranks() override { return real->shard_ranks(); }
  void after_update(step_info const& now, replica const& mine, bool updated) override {
    real->after_update(now, mine, updated);
  }
  int late_buckets() const override { return real->late_buckets(); }
  void finish_late(gradient_parts& parts) override {
    ++late_steps;
    real->finish_late(parts);
  }
  void abandon(std::string_view why) noexcept override { real->abandon(why); }
  agreement const* agreed() const override { return real->agreed(); }

  communicator& world;
  bool fails;
  int late_steps = 0;
  std::unique_ptr<strategy> real;
};

/// The version of the parameters after each step.
struct versions final : listener {
  std::vector<std::uint64_t> all;
  void on_step(training& run, step_report const&) override { all.push_back(run.parameters().version()); }
};

TEST(sharded, skips_a_step_on_all_ranks_if_a_sum_of_one_rank_is_not_finite) {
  launch<threads>(3, {.deadline = std::chrono::seconds(60)}, [](communicator& world) {
    bright_thirds const examples(48);
    training_settings settings = with_state();
    settings.not_finite = when_not_finite::skip;
    training run = trainer<narrow>(tall, world, std::make_unique<spoiling>(world), settings);
    versions seen;
    fit_report const report = run.fit(examples.data(), {.batch = 4, .listeners = {&seen}});
    EXPECT_EQ(report.steps, 4);
    EXPECT_EQ(report.skipped, 1);
    EXPECT_NE(std::ranges::adjacent_find(seen.all), seen.all.end());  // the skipped step changes nothing
    EXPECT_TRUE(same_text(world, run.checksum()));
    for (float const w : parameters_of<float>(run)) ASSERT_TRUE(std::isfinite(w));
  });
}

TEST(sharded, skips_a_step_after_one_whose_parameters_are_gathered_late) {
  launch<threads>(3, {.deadline = std::chrono::seconds(60)}, [](communicator& world) {
    bright_thirds const examples(48);
    training_settings settings = with_state();
    settings.not_finite = when_not_finite::skip;
    auto how = std::make_unique<spoiling>(world, false, true);
    spoiling const& look = *how;
    training run = trainer<narrow>(deep, world, std::move(how), settings);
    fit_report const report = run.fit(examples.data(), {.batch = 4});
    EXPECT_EQ(report.skipped, 1);
    EXPECT_TRUE(same_text(world, run.checksum()));
    EXPECT_EQ(look.late_steps, report.steps - 1) << "the skipped step gathers nothing";
    for (float const w : parameters_of<float>(run)) ASSERT_TRUE(std::isfinite(w));
  });
}

struct stop_after final : listener {
  explicit stop_after(int steps) : remaining(steps) {}
  int remaining;
  void on_step(training& run, step_report const&) override {
    if (--remaining == 0) run.request({.stop = true});
  }
};

TEST(sharded, resumes_within_an_epoch_if_parameters_are_gathered_in_the_next_forward) {
  scratch_folder const folder;
  allreduce const late{.overlap_next_forward = true, .shard = shard::gradients};
  auto const checksum = [&](int ranks, allreduce const& how, bool resumes, int steps) {
    std::string found;
    launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
      bright_thirds const examples(50);
      training run = trainer<narrow>(deep, world, how, settings_of({.rule = adam{.learning_rate = 0.001}}));
      if (resumes) {
        EXPECT_TRUE(resume(run, folder.path()));
        EXPECT_EQ(run.epoch(), 0);
        EXPECT_GT(run.step(), 0);
      }
      stop_after stopping(steps);
      checkpoint_listener saving(folder.path(), 0, 1, {});
      fit_settings whole{.batch = 4};
      if (steps > 0) whole.listeners = {&stopping, &saving};
      run.fit(examples.data(), whole);
      std::string const mine = run.checksum();
      EXPECT_TRUE(same_text(world, mine));
      if (world.rank() == 0) found = mine;
    });
    return found;
  };
  std::string const uninterrupted = checksum(3, {}, false, 0);
  EXPECT_NE(checksum(3, late, false, 2), uninterrupted);
  EXPECT_EQ(checksum(3, late, true, 0), uninterrupted);
  EXPECT_EQ(checksum(2, late, true, 0), checksum(2, {}, true, 0));
}

TEST(sharded, resumes_with_any_number_of_ranks) { resumes_with_other_ranks({1, 2, 3}); }

/// The shared file of a checkpoint has the bytes of an unsharded run.
TEST(sharded, writes_the_checkpoint_of_an_unsharded_run) {
  scratch_folder const folder;
  auto const save = [&](shard what, std::string const& to) {
    std::string path;
    launch<threads>(3, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
      bright_thirds const examples(24);
      training run = trainer<narrow>(tall, world, allreduce{.shard = what}, settings_of({.rule = adam{}}));
      run.fit(examples.data(), {.batch = 4});
      std::string const saved = save_checkpoint(run, folder / to);
      if (world.rank() == 0) path = saved;
    });
    std::ifstream file(path + "/shared.safetensors", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  std::string const whole = save(shard::nothing, "whole");
  EXPECT_GT(whole.size(), 1'000'000U);
  EXPECT_EQ(save(shard::optimizer_state, "divided"), whole);
  {
    small_disk const full(1'000'000);
    EXPECT_THROW(save(shard::gradients, "small"), file_error);
  }
  launch<threads>(3, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    training run = trainer<narrow>(tall, world, allreduce{.shard = shard::gradients}, with_state());
    EXPECT_FALSE(resume(run, folder / "small"));
  });
}

TEST(sharded, ends_all_ranks_if_one_fails_after_the_sums) {
  std::atomic<int> informed = 0;
  EXPECT_THROW(launch<threads>(3, {.deadline = std::chrono::seconds(60)},
                               [&](communicator& world) {
                                 bright_thirds const examples(48);
                                 training run = trainer<narrow>(
                                     tall, world, std::make_unique<spoiling>(world, true), with_state());
                                 std::string const said =
                                     refusal_of<error>([&] { run.fit(examples.data(), {.batch = 4}); });
                                 if (said.find("the shelf is empty") != std::string::npos) ++informed;
                               }),
               error);
  EXPECT_EQ(informed, 3);
}

}  // namespace shard_test
