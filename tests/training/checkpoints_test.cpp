// SPDX-License-Identifier: Apache-2.0
// covers: training/checkpoint_listener
#include <cohort/communicator/launch.hpp>
#include <cohort/data/mapped.hpp>
#include <cohort/data/select.hpp>
#include <cohort/training/checkpoint_listener.hpp>
#include <cohort/training/load.hpp>
#include <cohort/training/stop_on_signal.hpp>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include "../checkpoint/refusals.hpp"
#include "../checkpoint/scratch_folder.hpp"
#include "../strategy/rank_cases.hpp"
#include "../strategy/sharing_cases.hpp"

namespace checkpoints_test {

using namespace cohort_test;

/// Ends fit after some steps, as if the process had ended.
struct stop_after final : listener {
  int left;
  explicit stop_after(int steps) : left(steps) {}
  void on_step(training& run, step_report const&) override {
    if (--left == 0) run.request({.stop = true});
  }
};

constexpr int epochs = 3;

/// Trains all epochs without interruption, or with a stop by a vote and a resume by ranks that only have the
/// folder.
template <class Strategy>
void resumed_equals_uninterrupted(int ranks, Strategy const& how, int steps,
                                  graph const& net = graph(small)) {
  bright_thirds const examples(103);
  scratch_folder const folder;
  std::string uninterrupted;
  launch<threads>(ranks, [&](communicator& world) {
    training made = trainer<narrow>(net, world, how, with_state(2));
    made.fit(examples.data(), {.batch = 7, .epochs = epochs});
    if (world.rank() == 0) uninterrupted = made.checksum();
  });
  launch<threads>(ranks, [&](communicator& world) {
    training made = trainer<narrow>(net, world, how, with_state(2));
    stop_after stopping(steps);
    checkpoint_listener saving(folder.path(), 1, 2, {});
    fit_report const report =
        made.fit(examples.data(), {.batch = 7, .epochs = epochs, .listeners = {&saving, &stopping}});
    EXPECT_TRUE(report.stopped);
  });
  launch<threads>(ranks, [&](communicator& world) {
    training made = trainer<narrow>(net, world, how, with_state(2));
    std::optional<std::string> const from = resume(made, folder.path());
    ASSERT_TRUE(from.has_value());
    EXPECT_GE(made.step(), steps);
    made.fit(examples.data(), {.batch = 7, .epochs = epochs - static_cast<int>(made.epoch())});
    EXPECT_EQ(made.checksum(), uninterrupted) << *from;
  });
}

TEST(checkpoints, of_allreduce_resume_bitwise) {
  for (int ranks : {1, 3})
    for (int steps : {1, 4, 6}) resumed_equals_uninterrupted(ranks, allreduce{}, steps);
}

TEST(checkpoints, of_averaging_resume_bitwise) {
  for (int ranks : {1, 2})
    for (int steps : {2, 4, 8}) resumed_equals_uninterrupted(ranks, parameter_averaging{.every = 3}, steps);
  resumed_equals_uninterrupted(3, parameter_averaging{.every = 2, .average_optimizer_state = false}, 3);
}

TEST(checkpoints, of_outer_steps_resume_bitwise) {
  for (int steps : {2, 4, 8})
    resumed_equals_uninterrupted(2, parameter_averaging{.every = 3, .outer = outer::diloco{}}, steps);
  for (int steps : {1, 2, 5})  // a vote takes effect a period later, while the next mean is pending
    resumed_equals_uninterrupted(
        3, parameter_averaging{.every = 2, .outer = outer::bmuf{.nesterov = true}, .overlap = true}, steps);
}

TEST(checkpoints, of_sharing_resume_bitwise) {
  for (int ranks : {1, 3})
    for (threshold_sharing how : {sharing(), sharing(route::merged), update_sharing(), late_sharing(),
                                  late_sharing(share::gradient), process_sharing(late_sharing())}) {
      how.threshold = threshold::adaptive{.initial = 0.05};
      how.residual = residual::clip{.at = 3, .every = 2};
      how.settings.warm_up = 2;
      how.settings.sync_buffers = 3;
      for (int steps : {1, 5}) resumed_equals_uninterrupted(ranks, how, steps, with_norms);
    }
}

/// Sum of all ranks' residuals, element by element.
std::vector<double> residual_of_all(communicator& world, strategy const& of) {
  std::vector<float> const mine = array_of(of, "residual");
  std::vector<double> sum(mine.begin(), mine.end());
  world.allreduce(std::span(sum));
  return sum;
}

TEST(checkpoints, redistribute_residuals_to_the_current_ranks) {
  bright_thirds const examples(103);
  scratch_folder const folder;
  std::vector<double> before;
  launch<threads>(3, [&](communicator& world) {
    auto how = sharing().on(world);
    strategy const& look = *how;
    training made = trainer<narrow>(small, world, std::move(how), with_state());
    made.fit(examples.data(), {.batch = 5, .epochs = 1});
    save_checkpoint(made, folder.path());
    if (auto const sum = residual_of_all(world, look); world.rank() == 0) before = sum;
  });
  double const largest =
      std::abs(*std::ranges::max_element(before, {}, [](double r) { return std::abs(r); }));
  EXPECT_GT(largest, 0);
  for (int ranks : {1, 2, 4})
    launch<threads>(ranks, [&](communicator& world) {
      auto how = sharing().on(world);
      strategy const& look = *how;
      training made = trainer<narrow>(small, world, std::move(how), with_state());
      ASSERT_TRUE(resume(made, folder.path()).has_value());
      EXPECT_LT(largest_difference(residual_of_all(world, look), before), 3 * 0x1p-24 * largest);
      std::vector<float> const mine = array_of(look, "residual");
      EXPECT_NEAR(mine[7], before[7] / ranks, 0x1p-22 * largest);
      made.fit(examples.data(), {.batch = 15 / ranks, .epochs = 2});
      EXPECT_TRUE(same_text(world, made.checksum()));
    });
}

/// Messages of two former ranks that had not been applied yet, also after a second checkpoint of the resumed
/// rank.
TEST(checkpoints, keep_messages_of_former_ranks_until_they_are_applied) {
  bright_thirds const examples(103);
  scratch_folder const folder, again;
  struct saving final : listener {
    std::string to;
    void on_step(training& run, step_report const& done) override {
      if (done.step == 4) save_checkpoint(run, to);
    }
  } at_five;
  at_five.to = folder.path();
  launch<threads>(2, [&](communicator& world) {
    training made = trainer<narrow>(small, world, late_sharing(), with_state());
    saving mine = at_five;
    made.fit(examples.data(), {.batch = 7, .epochs = 1, .listeners = {&mine}});
  });
  auto const trained_from = [&](std::string const& from, bool saves) {
    std::string checksum;
    launch<self>([&](communicator& world) {
      training made = trainer<narrow>(small, world, late_sharing(), with_state());
      ASSERT_TRUE(resume(made, from).has_value());
      if (saves) save_checkpoint(made, again.path());
      made.fit(examples.data(), {.batch = 14, .epochs = 1});
      checksum = made.checksum();
    });
    return checksum;
  };
  std::string const directly = trained_from(folder.path(), true);
  EXPECT_EQ(trained_from(again.path(), false), directly);
}

/// Writes a checkpoint after each step and each epoch, in separate folders.
struct saving_all final : listener {
  std::string folder;
  explicit saving_all(std::string to) : folder(std::move(to)) {}
  void on_step(training& run, step_report const& done) override {
    save_checkpoint(run, folder + "/behind-step-" + std::to_string(done.step), 1);
  }
  void on_epoch(training& run, epoch_report const& done) override {
    save_checkpoint(run, folder + "/behind-epoch-" + std::to_string(done.epoch), 1);
  }
};

/// Resumes from the checkpoint after each step and of each epoch: between two averagings, at an epoch's end,
/// and after skipped steps.
template <class Strategy>
void goes_on_from_anywhere(int ranks, Strategy const& how, bool with_nan) {
  bright_thirds examples(53);
  dataset const data = examples.data();
  training_settings settings = with_state();
  settings.not_finite = when_not_finite::skip;
  if (with_nan) examples.pixels[64 * 9] = std::numeric_limits<float>::quiet_NaN();
  scratch_folder const folder;
  std::string uninterrupted;
  std::int64_t steps = 0;
  launch<threads>(ranks, [&](communicator& world) {
    training made = trainer<narrow>(small, world, how, settings);
    saving_all saving(folder.path());
    made.fit(data, {.batch = 9, .epochs = 2, .listeners = {&saving}});
    if (world.rank() == 0) uninterrupted = made.checksum(), steps = made.step();
  });
  for (std::string const& from : folder.names())
    launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
      training made = trainer<narrow>(small, world, how, settings);
      ASSERT_TRUE(resume(made, folder / from).has_value());
      made.fit(data, {.batch = 9, .epochs = 2 - static_cast<int>(made.epoch())});
      EXPECT_EQ(made.checksum(), uninterrupted) << from;
      EXPECT_EQ(made.step(), steps) << from;
    });
}

/// A model file with all state that a run needs to continue, and the loss so far with all digits.
std::string model_of(training& run) {
  std::ostringstream out;
  run.save(out, true);
  return out.str();
}

TEST(checkpoints, restore_the_plateau_state_even_in_the_middle_of_an_epoch) {
  bright_thirds const examples(53);
  training_settings settings = with_state(2);
  settings.plateau = reduce_on_plateau{.factor = 0.5, .patience = 0, .threshold = 0.4, .cooldown = 1};
  for (int ranks : {1, 2}) {
    scratch_folder const folder;
    fit_settings const how{.batch = 18 / ranks, .epochs = 4};
    std::string uninterrupted;
    launch<threads>(ranks, [&](communicator& world) {
      training made = trainer<narrow>(small, world, allreduce{}, settings);
      fit_settings saved = how;
      saving_all saving(folder.path());
      saved.listeners = {&saving};
      made.fit(examples.data(), saved);
      std::string const model = model_of(made);
      if (world.rank() == 0) uninterrupted = model;
    });
    std::istringstream file(uninterrupted);
    model_file const read = model_file::read(file);
    plateau const seen = read.plateau();
    EXPECT_LT(seen.factor, 0.6);
    EXPECT_LT(seen.best, 1);
    for (std::string const& from : folder.names())
      launch<threads>(ranks, [&](communicator& world) {
        training made = trainer<narrow>(small, world, allreduce{}, settings);
        ASSERT_TRUE(resume(made, folder / from).has_value());
        made.fit(examples.data(),
                 {.batch = how.batch, .epochs = how.epochs - static_cast<int>(made.epoch())});
        EXPECT_TRUE(model_of(made) == uninterrupted) << from;
      });
  }
}

TEST(checkpoints, resume_bitwise_from_any_step) {
  for (int ranks : {1, 2, 3})
    for (bool with_nan : {false, true}) {
      goes_on_from_anywhere(ranks, allreduce{.resync = 3}, with_nan);
      goes_on_from_anywhere(ranks, allreduce{.wire = element_type::bf16}, with_nan);
      goes_on_from_anywhere(ranks, parameter_averaging{.every = 3}, with_nan);
      goes_on_from_anywhere(ranks, parameter_averaging{.every = 4, .average_optimizer_state = false},
                            with_nan);
      goes_on_from_anywhere(ranks, parameter_averaging{.every = 2, .outer = outer::diloco{}}, with_nan);
      goes_on_from_anywhere(ranks, parameter_averaging{.every = 2, .outer = outer::bmuf{}, .overlap = true},
                            with_nan);
    }
}

/// A killed run resumes from a checkpoint between two averagings, where ranks differ.
TEST(checkpoints, contain_each_ranks_parameters_between_two_averagings) {
  bright_thirds const examples(103);
  scratch_folder const folder;
  parameter_averaging const how{.every = 4};
  std::string uninterrupted;
  launch<threads>(2, [&](communicator& world) {
    training made = trainer<narrow>(small, world, how, with_state());
    made.fit(examples.data(), {.batch = 7, .epochs = epochs});
    if (world.rank() == 0) uninterrupted = made.checksum();
  });
  struct killed {};
  struct killer final : listener {
    void on_step(training& run, step_report const& done) override {
      if (done.step == 5) {
        save_checkpoint(run, path);
        EXPECT_FALSE(same_text(run.world(), run.checksum()));
        throw killed{};
      }
    }
    std::string path;
  };
  EXPECT_ANY_THROW(launch<threads>(2, [&](communicator& world) {
    training made = trainer<narrow>(small, world, how, with_state());
    killer end;
    end.path = folder.path();
    made.fit(examples.data(), {.batch = 7, .epochs = epochs, .listeners = {&end}});
  }));
  launch<threads>(2, [&](communicator& world) {
    training made = trainer<narrow>(small, world, how, with_state());
    ASSERT_TRUE(resume(made, folder.path()).has_value());
    EXPECT_EQ(made.step(), 6);
    made.fit(examples.data(), {.batch = 7, .epochs = epochs - static_cast<int>(made.epoch())});
    EXPECT_EQ(made.checksum(), uninterrupted);
  });
}

TEST(checkpoints, resume_at_the_same_position_with_changed_ranks_strategy_and_backend) {
  bright_thirds const examples(103), held(60, 2);
  scratch_folder const folder;
  launch<threads>(3, [&](communicator& world) {
    training made = trainer<narrow>(small, world, parameter_averaging{.every = 4}, with_state());
    stop_after stopping(8);  // in the second epoch, before the averaging after its fourth step
    checkpoint_listener saving(folder.path(), 1, 1, {});
    made.fit(examples.data(), {.batch = 5, .epochs = 4, .listeners = {&saving, &stopping}});
  });
  std::vector<double> merged;
  for (int ranks : {1, 2, 4})
    launch<threads>(ranks, [&](communicator& world) {
      training made = trainer<wide>(small, world, allreduce{}, with_state());
      ASSERT_TRUE(resume(made, folder.path()).has_value());
      EXPECT_EQ(made.position().position, 4 * 5 * 3);
      EXPECT_EQ(made.epoch(), 1);
      if (world.rank() == 0 && merged.empty()) merged = parameters_of(made);
      EXPECT_EQ(parameters_of(made), merged);
      fit_report const rest = made.fit(examples.data(), {.batch = 15 / ranks, .epochs = 3});
      EXPECT_EQ(rest.examples, 3 * 103 - 60);
      EXPECT_GT(made.evaluate(held.data()).accuracy().value(), 0.8);
    });
}

/// Saves a checkpoint after a number of steps.
struct saving_at final : listener {
  std::string folder;
  std::int64_t steps;
  saving_at(std::string where, std::int64_t when) : folder(std::move(where)), steps(when) {}
  void on_step(training& run, step_report const& done) override {
    if (done.step + 1 == steps) save_checkpoint(run, folder, 1);
  }
};

TEST(checkpoints, of_outer_steps_resume_with_another_number_of_ranks) {
  bright_thirds const examples(103), held(60, 2);
  scratch_folder const folder;
  parameter_averaging const how{.every = 4, .outer = outer::bmuf{.momentum = 0.3}, .overlap = true};
  launch<threads>(3, [&](communicator& world) {
    training made = trainer<narrow>(small, world, how, with_state());
    saving_at saving(folder.path(), 10);
    made.fit(examples.data(), {.batch = 5, .epochs = 2, .listeners = {&saving}});
  });
  for (int ranks : {1, 2, 4})
    launch<threads>(ranks, [&](communicator& world) {
      training made = trainer<narrow>(small, world, how, with_state());
      ASSERT_TRUE(resume(made, folder.path()).has_value());
      EXPECT_EQ(made.step(), 10);
      made.fit(examples.data(), {.batch = 15 / ranks, .epochs = 6});
      EXPECT_TRUE(same_text(world, made.checksum()));
      EXPECT_GT(made.evaluate(held.data()).accuracy().value(), 0.8);
    });
}

TEST(checkpoints, are_saved_after_the_last_epoch_so_that_more_epochs_can_follow) {
  bright_thirds const examples(30);
  std::string uninterrupted;
  launch<threads>(2, [&](communicator& world) {
    training made = trainer<narrow>(small, world, parameter_averaging{.every = 4}, with_state());
    made.fit(examples.data(), {.batch = 5, .epochs = 3});
    if (world.rank() == 0) uninterrupted = made.checksum();
  });
  scratch_folder const folder;
  launch<threads>(2, [&](communicator& world) {
    training made = trainer<narrow>(small, world, parameter_averaging{.every = 4}, with_state());
    checkpoint_listener saving(folder.path(), 0, 3, {});
    made.fit(examples.data(), {.batch = 5, .epochs = 2, .listeners = {&saving}});
    EXPECT_EQ(saving.newest_step(), 6);
  });
  launch<threads>(2, [&](communicator& world) {
    training made = trainer<narrow>(small, world, parameter_averaging{.every = 4}, with_state());
    ASSERT_TRUE(resume(made, folder.path()).has_value());
    EXPECT_EQ(made.epoch(), 2);
    made.fit(examples.data(), {.batch = 5, .epochs = 1});
    if (world.rank() == 0) {
      EXPECT_EQ(made.checksum(), uninterrupted);
    }
  });
}

/// Stores a number per rank, and records the numbers of former ranks that it receives.
struct remembering final : strategy {
  explicit remembering(communicator& world) : own(world.rank() + 1.0F), real(allreduce{}.on(world)) {}
  std::string describe() const override { return "remembering"; }
  void begin(step_info const& now, replica const& mine) override { real->begin(now, mine); }
  void ready(step_info const& now, bucket const& one, gradient_parts& parts) override {
    real->ready(now, one, parts);
  }
  bool before_update(step_info const& now, gradient_parts& parts) override {
    return real->before_update(now, parts);
  }
  agreement const* agreed() const override { return real->agreed(); }
  strategy_state state() const override {
    return {.arrays = {{"own", element_type::f32, std::as_bytes(std::span(&own, 1))}}};
  }
  void restore(strategy_state const&) override { heard.push_back(-1); }
  void restore_from_ranks(strategy_state const& had, int former, int ranks) override {
    ASSERT_EQ(had.arrays.size(), 1U);
    float theirs = 0;
    std::memcpy(&theirs, had.arrays[0].values.data(), sizeof theirs);
    EXPECT_EQ(theirs, former + 1.0F);
    EXPECT_EQ(ranks, 3);
    heard.push_back(former);
  }

  float own;
  std::vector<int> heard;
  std::unique_ptr<strategy> real;
};

TEST(checkpoints, restore_each_ranks_state_with_another_number_of_ranks) {
  bright_thirds const examples(40);
  scratch_folder const folder;
  launch<threads>(3, [&](communicator& world) {
    training made = trainer<narrow>(small, world, std::make_unique<remembering>(world));
    made.fit(examples.data(), {.batch = 5, .epochs = 1});
    save_checkpoint(made, folder.path());
  });
  for (int const ranks : {2, 3, 4})
    launch<threads>(ranks, [&](communicator& world) {
      auto agree = std::make_unique<remembering>(world);
      std::vector<int> const& heard = agree->heard;
      training made = trainer<narrow>(small, world, std::move(agree));
      ASSERT_TRUE(resume(made, folder.path()).has_value());
      EXPECT_EQ(heard, ranks == 3 ? std::vector<int>{-1} : (std::vector<int>{0, 1, 2}));
    });
}

TEST(checkpoints, redistribute_rounding_errors_to_another_number_of_ranks) {
  bright_thirds const examples(103);
  scratch_folder const folder;
  allreduce const how{.wire = element_type::bf16};
  /// Sum over the ranks of the numbers in their own files.
  auto const kept = [&](communicator& world, std::string const& path) {
    model_file const own = model_file::open(path + "/rank-" + std::to_string(world.rank()) + ".safetensors");
    std::vector<float> sum;
    for (stored_tensor const& one : own.file().tensors())
      if (one.name == "strategy/array/rounded_away") {
        sum.resize(one.view.bytes() / sizeof(float));
        std::memcpy(sum.data(), one.view.data, one.view.bytes());
      }
    world.allreduce(std::span(sum));
    return sum;
  };
  std::vector<float> before;
  launch<threads>(2, [&](communicator& world) {
    training made = trainer<narrow>(small, world, how, with_state());
    made.fit(examples.data(), {.batch = 7, .epochs = 1});
    auto const sum = kept(world, save_checkpoint(made, folder.path()));
    if (world.rank() == 0) before = sum;
  });
  ASSERT_GT(*std::max_element(before.begin(), before.end()), 0);
  launch<threads>(4, [&](communicator& world) {
    training made = trainer<narrow>(small, world, how, with_state());
    made.fit(examples.data(), {.batch = 5, .epochs = 1});  // the rank's own stored number is discarded
    ASSERT_TRUE(resume(made, folder.path()).has_value());
    auto const after = kept(world, save_checkpoint(made, folder / "again"));
    ASSERT_EQ(after.size(), before.size());
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_FLOAT_EQ(after[i], before[i]);
    made.fit(examples.data(), {.batch = 4, .epochs = 1});
    EXPECT_TRUE(same_text(world, made.checksum()));
  });
}

TEST(checkpoints, keep_the_velocity_of_outer_steps_with_another_number_of_ranks) {
  bright_thirds const examples(60);
  scratch_folder const folder;
  parameter_averaging const how{.every = 2, .outer = outer::diloco{}};
  auto const velocity = [&](std::string const& path) {
    model_file const own = model_file::open(path + "/rank-0.safetensors");
    std::vector<float> values;
    for (stored_tensor const& one : own.file().tensors())
      if (one.name == "strategy/array/velocity") {
        values.resize(one.view.bytes() / sizeof(float));
        std::memcpy(values.data(), one.view.data, one.view.bytes());
      }
    return values;
  };
  std::vector<float> before;
  for (int const ranks : {2, 3})
    launch<threads>(ranks, [&](communicator& world) {
      training made = trainer<narrow>(small, world, how, with_state());
      EXPECT_EQ(resume(made, folder.path()).has_value(), ranks == 3);
      if (ranks == 2) made.fit(examples.data(), {.batch = 5, .epochs = 1});
      std::string const path = save_checkpoint(made, folder.path());
      if (world.rank() > 0) return;
      if (ranks == 2) before = velocity(path);
      EXPECT_EQ(velocity(path), before);
      EXPECT_GT(*std::max_element(before.begin(), before.end()), 0);
    });
}

/// A run may resume with an element type that differs from the one of the strategy's state in the checkpoint.
TEST(checkpoints, of_outer_steps_resume_with_another_element_type) {
  bright_thirds const examples(103), held(60, 2);
  scratch_folder const folder;
  for (bool const overlap : {false, true}) {
    parameter_averaging const how{.every = 4, .outer = outer::diloco{}, .overlap = overlap};
    launch<threads>(2, [&](communicator& world) {
      training made = trainer<narrow>(small, world, how, with_state());
      checkpoint_listener saving(folder.path(), 6, 1, {});
      made.fit(examples.data(), {.batch = 5, .epochs = 1, .listeners = {&saving}});
    });
    launch<threads>(2, [&](communicator& world) {
      training made = trainer<wide>(small, world, how, with_state());
      ASSERT_TRUE(resume(made, folder.path()).has_value());
      made.fit(examples.data(), {.batch = 5, .epochs = 4});
      EXPECT_TRUE(same_text(world, made.checksum()));
      EXPECT_GT(made.evaluate(held.data()).accuracy().value(), 0.8);
    });
  }
}

/// A listener that stores a word.
struct with_a_word final : listener {
  std::string word, its_name;
  explicit with_a_word(std::string what, std::string name = "a word")
      : word(std::move(what)), its_name(std::move(name)) {}
  std::string name() const override { return its_name; }
  std::string state() const override { return word; }
  void restore(std::string_view text) override { word = text; }
};

TEST(checkpoints, restore_listeners_with_equal_names_in_order) {
  bright_thirds const examples(30);
  scratch_folder const folder;
  training made = trainer<narrow>(small, with_state());
  with_a_word first("first"), second("second"), third("third");
  checkpoint_listener saving(folder.path(), 1, 1, {});
  made.fit(examples.data(), {.batch = 10, .listeners = {&first, &saving, &second, &third}});

  training again = trainer<narrow>(small, with_state());
  ASSERT_TRUE(resume(again, folder.path()).has_value());
  with_a_word one("1"), two("2");
  again.fit(examples.data(), {.batch = 10, .listeners = {&one, &two}});
  EXPECT_EQ(one.word, "first");
  EXPECT_EQ(two.word, "second");
}

TEST(checkpoints, restore_listeners_with_brackets_in_their_names) {
  bright_thirds const examples(30);
  scratch_folder const folder;
  training made = trainer<narrow>(small, with_state());
  with_a_word x("x", "a (x)"), y("y", "a (y)"), only("only", " (x)");
  checkpoint_listener saving(folder.path(), 1, 1, {});
  made.fit(examples.data(), {.batch = 10, .listeners = {&x, &y, &only, &saving}});

  training again = trainer<narrow>(small, with_state());
  ASSERT_TRUE(resume(again, folder.path()).has_value());
  with_a_word second("", "a (y)"), third("", " (x)");
  again.fit(examples.data(), {.batch = 10, .listeners = {&third, &second}});
  EXPECT_EQ(second.word, "y");
  EXPECT_EQ(third.word, "only");
}

/// A listener that refuses its state until `accepts` is set.
struct refusing final : listener {
  bool accepts = false;
  std::string word = "none";
  std::string name() const override { return "a word"; }
  void restore(std::string_view text) override {
    if (!accepts) throw data_error({.what = "not now"});
    word = text;
  }
};

TEST(checkpoints, keep_the_state_that_a_listener_refuses_for_the_next_fit) {
  bright_thirds const examples(30);
  scratch_folder const folder;
  training made = trainer<narrow>(small, with_state());
  with_a_word first("first");
  checkpoint_listener saving(folder.path(), 1, 1, {});
  made.fit(examples.data(), {.batch = 10, .listeners = {&first, &saving}});

  training again = trainer<narrow>(small, with_state());
  ASSERT_TRUE(resume(again, folder.path()).has_value());
  refusing one;
  EXPECT_THROW(again.fit(examples.data(), {.batch = 10, .listeners = {&one}}), data_error);
  one.accepts = true;
  again.fit(examples.data(), {.batch = 10, .listeners = {&one}});
  EXPECT_EQ(one.word, "first");
}

TEST(checkpoints, contain_a_shared_file_that_is_a_model) {
  bright_thirds const examples(60);
  scratch_folder const folder;
  std::string path, checksum;
  launch<threads>(2, [&](communicator& world) {
    training made = trainer<narrow>(small, world, allreduce{}, with_state());
    made.fit(examples.data(), {.batch = 5, .epochs = 1});
    std::string const saved = save_checkpoint(made, folder.path());
    if (world.rank() == 0) {
      path = saved;
      checksum = made.checksum();
    }
  });
  EXPECT_EQ(load_trained<narrow>(path + "/shared.safetensors").checksum(), checksum);
}

/// Makes a checkpoint after 4 steps of an epoch.
void interrupt_an_epoch(communicator& world, dataset const& data, std::string const& folder) {
  training made = trainer<narrow>(small, world, allreduce{}, with_state());
  stop_after stopping(4);
  made.fit(data, {.batch = 7, .epochs = 1, .listeners = {&stopping}});
  save_checkpoint(made, folder);
}

TEST(checkpoints, continue_an_interrupted_epoch_only_on_the_same_examples) {
  bright_thirds const examples(103), others(104);
  for (int ranks : {1, 2}) {
    SCOPED_TRACE(ranks);
    scratch_folder const folder;
    launch<threads>(ranks, [&](communicator& world) {
      interrupt_an_epoch(world, select(examples.data(), 0, 103), folder.path());
      training made = trainer<narrow>(small, world, allreduce{}, with_state());
      resume(made, folder.path());
      dataset const other =
          mapped(examples.data(), [](std::int64_t, example_view& one) { one.edit<float>(0)[0] += 1; });
      for (int attempt = 0; attempt < 2; ++attempt) {
        try {
          made.fit(other, {.batch = 7, .epochs = 1});
          ADD_FAILURE() << "other examples are accepted";
        } catch (setting_error const& refusal) {
          std::string const text = refusal.what();
          EXPECT_NE(text.find("the interrupted epoch cannot continue on another data set"), text.npos)
              << text;
          EXPECT_NE(text.find("training::end_epoch"), text.npos) << text;
        }
      }
      made.fit(examples.data(), {.batch = 7, .epochs = 1});
      EXPECT_EQ(made.epoch(), 1);
      made.fit(other, {.batch = 7, .epochs = 1});  // a new epoch may have other examples
    });
  }
}

TEST(checkpoints, resumed_on_fewer_ranks_refuse_another_data_set) {
  bright_thirds const examples(203);
  scratch_folder const folder;
  launch<threads>(4, [&](communicator& world) { interrupt_an_epoch(world, examples.data(), folder.path()); });
  launch<threads>(2, [&](communicator& world) {
    training made = trainer<narrow>(small, world, allreduce{}, with_state());
    resume(made, folder.path());
    dataset const other =
        mapped(examples.data(), [](std::int64_t, example_view& one) { one.edit<float>(0)[0] += 1; });
    EXPECT_NE(refusal_of<setting_error>([&] { made.fit(other, {.batch = 7}); }).find("another data set"),
              std::string::npos);
    std::int64_t const used = made.position().position;
    EXPECT_GT(used, 0);
    EXPECT_EQ(made.fit(examples.data(), {.batch = 7}).examples, 203 - used);
  });
}

/// Interrupts an epoch with `first`, and returns the refusal of a fit with `then`.
std::string refusal_of_order(fit_settings const& first, fit_settings const& then, int ranks_before = 2,
                             int ranks = 2) {
  bright_thirds const examples(103);
  scratch_folder const folder;
  launch<threads>(ranks_before, [&](communicator& world) {
    training made = trainer<narrow>(small, world, allreduce{}, with_state());
    stop_after stopping(4);
    fit_settings how = first;  // the ranks share `first`
    how.listeners = {&stopping};
    made.fit(examples.data(), how);
    save_checkpoint(made, folder.path());
  });
  std::string refusal;
  launch<threads>(ranks, [&](communicator& world) {
    training made = trainer<narrow>(small, world, allreduce{}, with_state());
    resume(made, folder.path());
    std::string const text = refusal_of<setting_error>([&] { made.fit(examples.data(), then); });
    if (world.rank() == 0) refusal = text;
    made.end_epoch();
    made.fit(examples.data(), then);
  });
  return refusal;
}

TEST(checkpoints, continue_an_interrupted_epoch_only_in_the_same_order) {
  fit_settings const usual{.batch = 7};
  auto const other = [&](auto edit) {
    fit_settings made = usual;
    edit(made);
    return made;
  };
  EXPECT_EQ(
      refusal_of_order(usual, other([](fit_settings& s) { s.shuffle = false; })),
      "the interrupted epoch cannot continue in another order (fit, epoch 1): expected the order of the run "
      "that wrote the checkpoint, examples of all ranks, shuffled by seed 7; or training::end_epoch, which "
      "ends the epoch, got examples of all ranks, not shuffled");
  fit_settings const blocks = other([](fit_settings& s) { s.blocks = {8, 2}; });
  EXPECT_NE(refusal_of_order(usual, blocks).find("in blocks of 8 in windows of 2"), std::string::npos);
  EXPECT_NE(refusal_of_order(blocks, usual).find("in blocks of 8 in windows of 2"), std::string::npos);
}

TEST(checkpoints, with_rank_local_examples_need_as_many_ranks_within_an_epoch) {
  fit_settings const local{.batch = 7, .sharding = sharding::local};
  EXPECT_NE(refusal_of_order(local, local, 4, 2).find("examples of each rank, 4 ranks"), std::string::npos);
  EXPECT_NE(refusal_of_order(local, {.batch = 7}, 2, 2).find("examples of each rank, 2 ranks"),
            std::string::npos);
}

TEST(checkpoints, allow_another_data_set_after_end_epoch) {
  bright_thirds const examples(103), others(104);
  scratch_folder const folder;
  launch<threads>(2, [&](communicator& world) {
    interrupt_an_epoch(world, examples.data(), folder.path());
    training made = trainer<narrow>(small, world, allreduce{}, with_state());
    resume(made, folder.path());
    made.end_epoch();
    EXPECT_NO_THROW(made.fit(others.data(), {.batch = 7, .epochs = 1}));
  });
}

TEST(checkpoints, are_not_found_in_an_empty_folder) {
  scratch_folder const folder;
  training made = trainer<narrow>(small, with_state());
  EXPECT_FALSE(resume(made, folder.path()).has_value());
  EXPECT_FALSE(resume(made, folder.path() + "/never").has_value());
}

TEST(checkpoints, that_cannot_be_written_are_logged_and_training_continues) {
  bright_thirds const examples(60);
  scratch_folder const folder;
  std::string const blocked = folder.path() + "/file";
  std::ofstream(blocked) << "not a folder";
  std::vector<std::string> said;
  launch<threads>(2, [&](communicator& world) {
    training made = trainer<narrow>(small, world, allreduce{}, with_state());
    checkpoint_listener saving(blocked, 2, 3, [&](std::string_view line) { said.emplace_back(line); });
    fit_report const report = made.fit(examples.data(), {.batch = 5, .epochs = 1, .listeners = {&saving}});
    EXPECT_EQ(report.steps, 6);
    EXPECT_EQ(saving.failures(), 3);
  });
  ASSERT_EQ(said.size(), 3U);
  EXPECT_NE(said[0].find("no checkpoint at step 2"), std::string::npos) << said[0];
}

/// Ends a run as a non-finite number does.
struct failing_after_saving final : listener {
  std::string to;
  void on_step(training& run, step_report const& done) override {
    if (done.step == 2) save_checkpoint(run, to);
    if (done.step == 4) throw std::runtime_error("as it must");
  }
};

template <class Strategy>
void resumes_in_a_training_that_has_run(Strategy const& how) {
  bright_thirds const examples(103);
  scratch_folder const folder;
  launch<threads>(2, [&](communicator& world) {
    training made = trainer<narrow>(small, world, how, with_state());
    failing_after_saving failing;
    failing.to = folder.path();
    EXPECT_THROW(made.fit(examples.data(), {.batch = 7, .epochs = 2, .listeners = {&failing}}),
                 std::runtime_error);
    world.barrier();
    training fresh = trainer<narrow>(small, world, how, with_state());
    for (training* one : {&made, &fresh}) {
      ASSERT_TRUE(resume(*one, folder.path()).has_value());
      one->fit(examples.data(), {.batch = 7, .epochs = 2});
    }
    EXPECT_EQ(made.checksum(), fresh.checksum()) << made.step();
  });
}

TEST(checkpoints, resume_in_the_training_object_that_failed) {
  resumes_in_a_training_that_has_run(allreduce{.wire = element_type::bf16});
  resumes_in_a_training_that_has_run(parameter_averaging{.every = 3, .outer = outer::diloco{}});
  resumes_in_a_training_that_has_run(parameter_averaging{.every = 4, .overlap = true});
  for (threshold_sharing const& one :
       {sharing(), update_sharing(), late_sharing(), late_sharing(share::gradient)})
    resumes_in_a_training_that_has_run(one);
}

TEST(checkpoints, are_written_on_a_termination_signal) {
  bright_thirds const examples(60);
  scratch_folder const folder;
  launch<threads>(2, [&](communicator& world) {
    struct raising final : listener {
      void on_step(training& run, step_report const& done) override {
        if (done.step == 3 && run.world().rank() == 1) std::raise(SIGTERM);
      }
    } raise;
    stop_on_signal ending;
    training made = trainer<narrow>(small, world, allreduce{}, with_state());
    checkpoint_listener saving(folder.path(), 0, 3, {});
    fit_report const report =
        made.fit(examples.data(), {.batch = 5, .epochs = 50, .listeners = {&ending, &raise, &saving}});
    EXPECT_TRUE(report.stopped);
    EXPECT_FALSE(saving.newest().empty());
    EXPECT_LE(made.step(), 6);
  });
}

}  // namespace checkpoints_test
