// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/io/detail/protobuf.hpp>
#include <cohort/io/file.hpp>
#include <cohort/monitoring/tensorboard_listener.hpp>
#include <cohort/records/record_set.hpp>
#include <cohort/records/tfrecord.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/trainer.hpp>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "../checkpoint/scratch_folder.hpp"
#include "../checkpoint/small_disk.hpp"

namespace tensorboard_listener_test {

using namespace cohort;

constexpr auto tiny =
    network<[](builder& net) { return net.input({2}) | dense{.units = 2} | softmax_cross_entropy{}; }>();

using reader = cohort::detail::protobuf_reader;

/// Tag → step → scalar, of a folder with one event file; other kinds have the value 0.
std::map<std::string, std::map<std::int64_t, float>> values_of(scratch_folder const& folder) {
  std::string const path = folder / folder.names().at(0);
  std::map<std::string, std::map<std::int64_t, float>> found;
  record_set const records({path}, tfrecord(), {.cache = ""});
  std::vector<std::byte> memory;
  for (std::int64_t i = 0; i < records.size(); ++i) {
    std::span<std::byte const> const content = records.read(i, records.field("record"), memory);
    std::int64_t step = 0;
    std::string tag;
    float value = 0;
    for (reader of({reinterpret_cast<char const*>(content.data()), content.size()}, path, "cannot read");
         of.next();) {
      if (of.field() == 2) step = of.integer();
      if (of.field() != 5) continue;
      reader summary(of, "summary");
      summary.next();
      for (reader one(summary, "value"); one.next();) {
        if (one.field() == 1) tag = one.bytes();
        if (one.field() == 2) value = one.real();
      }
    }
    if (!tag.empty()) found[tag][step] = value;
  }
  return found;
}

std::string content_of(scratch_folder const& folder) {
  auto const bytes = io::read_file(folder / folder.names().at(0));
  return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

/// Trains 2 epochs of 4 examples and returns the checksum of the parameters.
std::string train(std::vector<listener*> listeners, int batch = 1) {
  auto run = trainer<reference<float>>(tiny, {.optimizer = {sgd{.learning_rate = 0.5}}, .seed = 3});
  std::array const inputs{0.F, 1.F, 1.F, 0.F, 0.5F, 1.F, 1.F, 0.25F};
  std::array const labels{0, 1, 0, 1};
  run.fit(arrays(inputs, {2}, labels, 2), {.batch = batch, .epochs = 2, .listeners = std::move(listeners)});
  return run.checksum();
}

TEST(tensorboard_listener, writes_the_mean_loss_of_each_period_and_of_each_epoch) {
  scratch_folder const folder;
  tensorboard_listener board(folder.path(), {.every = 2, .histograms_every = 0});
  train({&board}, 3);  // 3 examples, then 1
  auto values = values_of(folder);
  ASSERT_EQ(values["train/loss"].size(), 2U);
  EXPECT_FLOAT_EQ(values["train/loss"][2], values["epoch/loss"][2]);  // a period is an epoch here
  EXPECT_FLOAT_EQ(values["train/loss"][4], values["epoch/loss"][4]);
  EXPECT_EQ(values["train/learning_rate"][4], 0.5F);
  for (auto const& [tag, steps] : values)
    EXPECT_TRUE(tag.find("parameters/") == tag.npos && tag.find("update") == tag.npos) << tag;
}

TEST(tensorboard_listener, writes_update_ratios_every_histograms_every_steps) {
  for (std::int64_t const every : {1, 3}) {
    scratch_folder const folder;
    tensorboard_listener board(folder.path(), {.every = 1, .histograms_every = every});
    train({&board});
    auto values = values_of(folder);
    std::set<std::int64_t> steps;
    for (auto const& [step, ratio] : values["update_ratio/dense_1.weights"]) {
      steps.insert(step);
      EXPECT_GT(ratio, 0);
      EXPECT_LT(ratio, 1);
    }
    EXPECT_EQ(values["gradients/dense_1.weights"].size(), every == 1 ? 8U : 2U);  // also of the first step
    EXPECT_EQ(steps,
              every == 1 ? (std::set<std::int64_t>{2, 3, 4, 5, 6, 7, 8}) : (std::set<std::int64_t>{3, 6}));
  }
}

/// Steps of the points of a tag.
std::set<std::int64_t> steps_of(std::map<std::string, std::map<std::int64_t, float>> const& values,
                                std::string const& tag) {
  std::set<std::int64_t> steps;
  if (auto const found = values.find(tag); found != values.end())
    for (auto const& [step, value] : found->second) steps.insert(step);
  return steps;
}

TEST(tensorboard_listener, writes_curves_and_histograms_of_a_short_run_by_default) {
  scratch_folder const folder;
  tensorboard_listener board(folder.path());
  train({&board});  // 2 epochs of 4 steps
  auto const values = values_of(folder);
  EXPECT_EQ(steps_of(values, "train/loss"), (std::set<std::int64_t>{1, 2, 4, 5, 8}));
  EXPECT_EQ(steps_of(values, "epoch/loss"), (std::set<std::int64_t>{4, 8}));
  for (char const* const tag : {"parameters/", "gradients/", "updates/", "update_ratio/"})
    EXPECT_EQ(steps_of(values, std::string(tag) + "dense_1.weights"), (std::set<std::int64_t>{4})) << tag;
}

TEST(tensorboard_listener, writes_early_points_of_a_resumed_run_more_often) {
  scratch_folder const folder;
  auto run = trainer<reference<float>>(tiny);
  std::array const inputs{0.F, 1.F};
  std::array const labels{1};
  run.fit(arrays(inputs, {2}, labels, 2));
  tensorboard_listener board(folder.path());
  for (int i = 0; i < 230; ++i) board.on_step(run, {.step = 5041 + i, .epoch = 3, .updated = true});
  auto const values = values_of(folder);
  EXPECT_EQ(steps_of(values, "train/learning_rate"),
            (std::set<std::int64_t>{5042, 5043, 5046, 5051, 5061, 5091, 5100, 5200}));
  EXPECT_EQ(steps_of(values, "parameters/dense_1.weights"), (std::set<std::int64_t>{5141}));
}

TEST(tensorboard_listener, writes_scalars_that_the_program_adds) {
  scratch_folder const folder;
  tensorboard_listener board(folder.path());
  board.scalar("validation/accuracy", 0, 0.5);  // before the first step
  struct accuracies final : listener {
    tensorboard_listener* board = nullptr;
    void on_epoch(training& run, epoch_report const&) override {
      board->scalar("validation/accuracy", run.step(), 0.75);
    }
  } own;
  own.board = &board;
  train({&own, &board});
  auto const values = values_of(folder);
  EXPECT_EQ(values.at("validation/accuracy"), (std::map<std::int64_t, float>{{4, 0.75F}, {8, 0.75F}}));
  std::string const content = content_of(folder);
  auto const first =
      content.find("validation/accuracy");  // of the curve; the other one is that of the HParams page
  std::size_t count = 0;
  for (auto at = first; at != content.npos; at = content.find("validation/accuracy", at + 1)) ++count;
  EXPECT_EQ(count, 3U);
}

training trained_in_one_step() {
  auto run = trainer<reference<float>>(tiny);
  std::array const inputs{0.F, 1.F};
  std::array const labels{1};
  run.fit(arrays(inputs, {2}, labels, 2));
  return run;
}

TEST(tensorboard_listener, writes_no_gradients_of_a_step_without_an_update) {
  scratch_folder const folder;
  training run = trained_in_one_step();
  tensorboard_listener board(folder.path(), {.every = 1, .histograms_every = 1});
  board.on_step(run, {.step = 0, .updated = false});
  board.on_step(run, {.step = 1, .updated = true});
  board.on_step(run, {.step = 2, .updated = false});
  auto values = values_of(folder);
  EXPECT_EQ(values["parameters/dense_1.weights"].size(), 3U);
  using steps = std::map<std::int64_t, float>;
  EXPECT_EQ(values["gradients/dense_1.weights"], (steps{{2, 0}}));
  EXPECT_EQ(values["updates/dense_1.weights"], (steps{{2, 0}}));
  EXPECT_EQ(values["update_ratio/dense_1.weights"], (steps{{2, 0}}));
}

/// A number on the HParams page; NaN if it is absent.
double hyperparameter_of(scratch_folder const& folder, std::string const& name) {
  std::string const key =
      name + "\x12\x09\x11";  // a map entry's value: a message of 9 bytes, field 2, 64 bits
  std::string const content = content_of(folder);
  std::size_t const at = content.find(key);
  double number = NAN;
  if (at != content.npos) std::memcpy(&number, content.data() + at + key.size(), sizeof number);
  return number;
}

TEST(tensorboard_listener, writes_the_speed_of_all_ranks_and_the_learning_rate_of_each_period) {
  scratch_folder const folder;
  auto run = trainer<reference<float>>(
      tiny, {.optimizer = {sgd{.learning_rate = 0.5}}, .plateau = reduce_on_plateau{}});
  run.state().rate_plateau.factor = 0.25;
  tensorboard_listener board(folder.path(), {.every = 2, .histograms_every = 0});
  for (int i = 0; i < 4; ++i)
    board.on_step(run, {.step = i,
                        .examples = 4,
                        .step_seconds = i < 2 ? 1.0 : 3.0,
                        .wait_seconds = 1,
                        .exchange_seconds = 0.5,
                        .ranks = 3});
  board.on_end(run);
  auto values = values_of(folder);
  using points = std::map<std::int64_t, float>;
  EXPECT_EQ(values["speed/samples_per_second"], (points{{2, 6}, {4, 3}}));
  EXPECT_EQ(values["speed/step_ms"], (points{{2, 1000}, {4, 3000}}));
  EXPECT_EQ(values["speed/wait_for_data_ms"], (points{{2, 1000}, {4, 1000}}));
  EXPECT_EQ(values["exchange/wait_ms"], (points{{2, 500}, {4, 500}}));
  EXPECT_EQ(values["train/learning_rate"], (points{{2, 0.125F}, {4, 0.125F}}));
}

TEST(tensorboard_listener, writes_the_ratio_of_an_update_to_the_previous_weights) {
  scratch_folder const folder;
  training run = trained_in_one_step();
  tensorboard_listener board(folder.path(), {.every = 1, .histograms_every = 2});
  for (std::int64_t const step : {0, 1}) {
    std::vector<float> const values(6, step == 0 ? 3.F : 3.3F);
    run.parameters().write_all(reinterpret_cast<std::byte const*>(values.data()), run.parameters().master());
    board.on_step(run, {.step = step});
  }
  board.on_end(run);
  EXPECT_NEAR(values_of(folder)["update_ratio/dense_1.weights"][2], 0.1, 1e-6);
}

TEST(tensorboard_listener, writes_no_histograms_of_frozen_layers) {
  scratch_folder const folder;
  constexpr auto two = network<[](builder& net) {
    return net.input({2}) | dense{.units = 2} | dense{.units = 2} | softmax_cross_entropy{};
  }>();
  auto run =
      trainer<reference<float>>(two, {.optimizer = {.layers = {{.layer = "dense_1", .frozen = true}}}});
  tensorboard_listener board(folder.path(), {.histograms_every = 1});
  std::array const inputs{0.F, 1.F};
  std::array const labels{1};
  run.fit(arrays(inputs, {2}, labels, 2), {.listeners = {&board}});
  auto values = values_of(folder);
  EXPECT_EQ(values.count("gradients/dense_2.weights"), 1U);
  for (char const* kind : {"parameters", "gradients"})
    EXPECT_EQ(values.count(std::string(kind) + "/dense_1.weights"), 0U) << kind;
}

TEST(tensorboard_listener, writes_the_settings_of_fit_as_hyperparameters) {
  scratch_folder const folder;
  tensorboard_listener board(folder.path());
  auto run = trainer<reference<float>>(
      tiny, {.optimizer = {sgd{.learning_rate = schedule::warm_up{100, schedule::step{0.25}}}}});
  std::array const inputs{0.F, 1.F, 1.F, 0.F};
  std::array const labels{0, 1};
  run.fit(arrays(inputs, {2}, labels, 2), {.batch = 8, .listeners = {&board}});
  EXPECT_EQ(hyperparameter_of(folder, "batch_per_rank"), 8);  // also if no step has so many examples
  EXPECT_EQ(hyperparameter_of(folder, "optimizer.rule.learning_rate.initial"), 0.25);
  EXPECT_EQ(hyperparameter_of(folder, "optimizer.rule.learning_rate.warm_up"), 100);
  EXPECT_NE(content_of(folder).find("optimizer.rule.learning_rate\x12\x06\x1a\x04step"), std::string::npos);
}

TEST(tensorboard_listener, does_not_change_the_run) {
  scratch_folder const folder;
  tensorboard_listener board(folder.path(), {.every = 1, .histograms_every = 1});
  EXPECT_EQ(train({&board}), train({}));
}

TEST(tensorboard_listener, logs_an_error_once_and_training_continues) {
  std::vector<std::string> lines;
  tensorboard_listener board("/dev/null/runs",
                             {.every = 1, .lines = [&](std::string_view line) { lines.emplace_back(line); }});
  EXPECT_EQ(train({&board}), train({}));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].find("tensorboard_listener: "), 0U) << lines[0];
  EXPECT_NE(lines[0].find("/dev/null"), std::string::npos) << lines[0];
  EXPECT_FALSE(board.last_error().empty());
  EXPECT_EQ(board.file(), nullptr);
}

/// As if the ranks changed while on_epoch is called.
TEST(tensorboard_listener, writes_a_repeated_epoch_once) {
  scratch_folder const folder;
  training run = trainer<reference<float>>(tiny);
  tensorboard_listener board(folder.path(), {.histograms_every = 0});
  for (std::int64_t const epoch : {0, 1}) {
    board.on_step(run, {.step = epoch, .epoch = epoch, .examples = 1, .weight = 1, .loss = 1});
    for (int i = 0; i < 2; ++i)
      board.on_epoch(run, {.epoch = epoch, .loss = 1, .validation = {{"accuracy", 0.5}}});
  }
  board.on_end(run);
  std::string const content = content_of(folder);
  int points = 0;
  for (std::size_t at = 0; (at = content.find("epoch/loss", at)) != content.npos; ++at) ++points;
  EXPECT_EQ(points, 3) << "two points, and the list of compared curves";
}

TEST(tensorboard_listener, stops_writing_after_an_error_within_an_epoch) {
  scratch_folder const folder;
  std::vector<std::string> lines;
  training run = trainer<reference<float>>(tiny);
  tensorboard_listener board(folder.path(), {.histograms_every = 0, .lines = [&](std::string_view line) {
                                               lines.emplace_back(line);
                                             }});
  board.on_step(run, {.examples = 1, .loss = 1});
  {
    small_disk const full(0);
    std::string const larger_than_the_buffer(1 << 17, 'x');
    board.on_epoch(run, {.loss = 1, .validation = {{larger_than_the_buffer, 1}}});
  }
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("cannot write the event file"), std::string::npos) << lines[0];
  EXPECT_EQ(board.file(), nullptr);
}

TEST(tensorboard_listener, refuses_invalid_intervals_and_hyperparameters) {
  EXPECT_EQ(refusal_of<setting_error>([] { tensorboard_listener("runs", {.every = 0}); }),
            "invalid interval (tensorboard_listener): expected every ≥ 1 step or automatic, histograms_every "
            "≥ 0 or automatic, got 0 "
            "and -1");
  EXPECT_THROW(tensorboard_listener("runs", {.histograms_every = -2}), setting_error);
  EXPECT_EQ(
      refusal_of<setting_error>([] {
        tensorboard_listener("runs", {.hyperparameters = {{"width", 2.0}, {"dropout", NAN}}});
      }),
      "a hyperparameter is not finite (tensorboard_listener, dropout): expected a finite number, got nan");
}

TEST(tensorboard_listener, computes_bytes_per_step_from_the_first_observed_step) {
  scratch_folder const folder;
  launch<threads>(2, [&](communicator& world) {
    training run = trainer<reference<float>>(tiny, world, allreduce{});
    tensorboard_listener board(folder.path(), {.every = 2, .histograms_every = 0});
    for (int i = 0; i < 4; ++i)
      board.on_step(run, {.step = 1000 + i,
                          .examples = 1,
                          .step_seconds = 1,
                          .bytes_sent = i == 0 ? 5'000'000U : 300U,
                          .ranks = 2});
    board.on_end(run);
  });
  auto values = values_of(folder);
  EXPECT_EQ(values["exchange/bytes_per_step"], (std::map<std::int64_t, float>{{1002, 300}, {1004, 300}}));
  EXPECT_EQ(values.count("train/loss"), 0U);  // no step had a weight
}

}  // namespace tensorboard_listener_test
