// SPDX-License-Identifier: Apache-2.0
// A mean over examples without weight, such as damaged records that are skipped, is undefined, not 0.
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/data/example_view.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/parameter_averaging.hpp>
#include <cohort/strategy/threshold_sharing.hpp>
#include <cohort/training/find_learning_rate.hpp>
#include <cohort/training/progress_listener.hpp>
#include <cohort/training/score_listener.hpp>
#include <cohort/training/trainer.hpp>
#include <cohort/training/training_loop.hpp>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include "../checkpoint/refusals.hpp"

namespace weightless_epoch_test {

using namespace cohort;
using narrow = reference<float>;

constexpr auto tiny =
    network<[](builder& net) { return net.input({2}) | dense{.units = 2} | softmax_cross_entropy{}; }>();

/// Examples with the given weights, whose inputs are ±size. An example of weight 0 consists of zeros, like a
/// damaged record.
class weighted {
 public:
  explicit weighted(std::vector<float> weights, float size = 1) : weights_(std::move(weights)), size_(size) {
    what_ = {
        .inputs = {{.name = "input", .example = {2}}},
        .targets = {{.name = "label", .stored = element_type::i32, .type = element_type::i32, .classes = 2}},
        .weighted = true};
  }
  data_description const& describe() const { return what_; }
  std::int64_t size() const { return static_cast<std::int64_t>(weights_.size()); }
  void get(std::int64_t i, example_view& out) const {
    float const weight = weights_[static_cast<std::size_t>(i)], signed_size = i % 2 == 0 ? size_ : -size_;
    float* const input = out.fill<float>(0);
    input[0] = weight == 0 ? 0 : signed_size;
    input[1] = weight == 0 ? 0 : -signed_size;
    *out.fill<std::int32_t>(1) = weight == 0 ? 0 : static_cast<std::int32_t>(i % 2);
    out.weight = weight;
  }

 private:
  std::vector<float> weights_;
  float size_;
  data_description what_;
};

dataset examples(std::vector<float> weights) { return weighted(std::move(weights)); }
std::vector<float> bad(std::size_t count) { return std::vector<float>(count); }

TEST(weightless_epoch, ends_fit_with_an_error) {
  training run = trainer<narrow>(tiny);
  std::string const before = run.checksum();
  std::string const sentence =
      "): expected examples with a weight; a damaged record that is skipped has weight 0, got 12 examples of "
      "weight 0";
  EXPECT_EQ(refusal_of<data_error>([&] { run.fit(examples(bad(12)), {.batch = 2}); }),
            "no example of the epoch has a weight above 0 (fit, epoch 1" + sentence);
  EXPECT_EQ(run.checksum(), before);
  run.fit(examples({0, 1, 0, 0, 0, 0}), {.batch = 2, .epochs = 2});
  EXPECT_NE(run.checksum(), before) << "one example with a weight is enough";
}

TEST(weightless_epoch, ends_fit_on_all_ranks_with_every_strategy) {
  launch<threads>(2, [](communicator& world) {
    auto const refuse = [&](auto how) {
      training run = trainer<narrow>(tiny, world, how);
      std::string const refusal = refusal_of<data_error>([&] { run.fit(examples(bad(12)), {.batch = 2}); });
      EXPECT_NE(refusal.find("got 12 examples of weight 0"), std::string::npos) << refusal;
    };
    refuse(allreduce{});
    refuse(parameter_averaging{.every = 2});
    refuse(threshold_sharing{});
  });
}

TEST(weightless_epoch, of_validation_data_ends_fit_on_all_ranks) {
  launch<threads>(2, [](communicator& world) {
    training run = trainer<narrow>(tiny, world, allreduce{});
    dataset const good = examples(std::vector<float>(12, 1.0F));
    EXPECT_EQ(refusal_of<data_error>([&] { run.fit(good, {.batch = 2, .validation = examples(bad(6))}); }),
              "no example of the validation data has a weight above 0 (validation): expected examples with a "
              "weight; a damaged record that is skipped has weight 0, got 6 examples of weight 0");
    fit_report const done = run.fit(good, {.batch = 2, .validation = examples({0, 0, 0, 1, 0, 0})});
    EXPECT_TRUE(std::isfinite(done.loss)) << "one example with a weight is enough";
  });
}

/// All examples of one rank's shard are damaged; the other ranks continue to train.
TEST(weightless_epoch, on_one_rank_does_not_end_fit) {
  launch<threads>(2, [](communicator& world) {
    auto const train = [&](auto how) {
      training run = trainer<narrow>(tiny, world, how);
      std::string const before = run.checksum();
      dataset const mine = examples(world.rank() == 0 ? std::vector<float>(12, 1.0F) : bad(12));
      struct last_epoch final : listener {
        epoch_report seen{};
        void on_epoch(training&, epoch_report const& done) override { seen = done; }
      } last;
      fit_report const done =
          run.fit(mine, {.batch = 3, .epochs = 2, .sharding = sharding::local, .listeners = {&last}});
      EXPECT_TRUE(std::isfinite(done.loss));
      EXPECT_GT(done.loss, 0);
      EXPECT_EQ(last.seen.examples, 24);
      EXPECT_EQ(last.seen.ignored, 12);
      EXPECT_EQ(last.seen.weight, 12);
      EXPECT_NE(run.checksum(), before);
      classification_report const report = run.evaluate(mine, {.sharding = sharding::local});
      EXPECT_EQ(report.examples(), 12) << "only the examples with a weight";
    };
    train(allreduce{});
    train(parameter_averaging{.every = 2});
    train(threshold_sharing{});
  });
}

TEST(weightless_epoch, counts_ignored_examples_of_the_resumed_part_only) {
  training run = trainer<narrow>(tiny);
  struct stop_after_two final : listener {
    std::vector<epoch_report> seen;
    void on_step(training& of, step_report const& done) override {
      if (done.step == 0) of.request({.stop = true});  // after the next step
    }
    void on_epoch(training&, epoch_report const& done) override { seen.push_back(done); }
  } listening;
  dataset const data = examples({0, 1, 1, 1, 0, 0, 1, 1});
  fit_settings const how{.batch = 2, .epochs = 1, .shuffle = false, .listeners = {&listening}};
  EXPECT_TRUE(run.fit(data, how).stopped);
  EXPECT_TRUE(listening.seen.empty());
  run.fit(data, how);
  ASSERT_EQ(listening.seen.size(), 1U);
  EXPECT_EQ(listening.seen[0].examples, 4);
  EXPECT_EQ(listening.seen[0].ignored, 2);
  EXPECT_EQ(listening.seen[0].weight, 5);
}

TEST(weightless_epoch, of_single_steps_has_no_loss) {
  training run = trainer<narrow>(tiny);
  std::vector<float> const x{1, 2, 3, 4}, none{0, 0}, half{0, 1};
  std::vector<std::int32_t> const labels{0, 1};
  batch_view step({tensor_view(x.data(), {2, 2})}, {tensor_view(labels.data(), {2})});
  EXPECT_TRUE(std::isnan(epoch_report{}.loss) && std::isnan(step_report{}.loss)
              && std::isnan(fit_report{}.loss));
  step.weights = none;
  EXPECT_TRUE(std::isnan(run.train_on(step).loss));
  EXPECT_TRUE(std::isnan(run.loss_of(step)));
  training_loop loop(run);
  loop.forward(step);
  EXPECT_TRUE(std::isnan(loop.loss()));
  loop.backward();
  EXPECT_TRUE(std::isnan(loop.step().loss));
  epoch_report const nothing = run.end_epoch();
  EXPECT_TRUE(std::isnan(nothing.loss));
  EXPECT_EQ(nothing.examples, 4);
  EXPECT_EQ(nothing.ignored, 4);
  step.weights = half;
  EXPECT_TRUE(std::isfinite(run.train_on(step).loss));
  loop.forward(step);
  loop.backward();
  loop.step();
  epoch_report const some = run.end_epoch();
  EXPECT_EQ(some.ignored, 2);
  EXPECT_TRUE(std::isfinite(some.loss));
}

TEST(weightless_epoch, has_no_metrics) {
  training run = trainer<narrow>(tiny);
  classification_report const report = run.evaluate(examples(bad(4)));
  EXPECT_EQ(report.examples(), 0);
  EXPECT_FALSE(report.accuracy());
  EXPECT_FALSE(run.fit(examples({1, 1}), {.epochs = 0}).loss == 0);
}

TEST(weightless_epoch, prints_loss_none_and_the_number_of_counted_examples) {
  training run = trainer<narrow>(tiny);
  std::vector<std::string> lines;
  sink const record = [&](std::string_view line) { lines.emplace_back(line); };
  {
    progress_listener progress({.lines = record, .bar = {}});
    run.fit(examples({1, 0, 1, 1, 0, 1}), {.batch = 2, .listeners = {&progress}});
    progress.on_epoch(run, {.epoch = 1, .examples = 12, .ignored = 12, .seconds = 1});
  }
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[0].find(", 4 of 6 examples in "), std::string::npos) << lines[0];
  EXPECT_EQ(lines[1], "epoch 2: loss none, 0 of 12 examples in 1.0 s, 12 samples/s");
  score_listener score(1, record);
  score.on_step(run, {.step = 4, .examples = 2});
  EXPECT_EQ(lines.back(), "step 5: loss none");
}

TEST(weightless_epoch, is_accepted_if_its_steps_were_skipped_as_non_finite) {
  training run = trainer<narrow>(tiny, {.not_finite = when_not_finite::skip});
  std::vector<float> const weights(8, 1.0F);
  dataset const infinite = weighted(weights, std::numeric_limits<float>::infinity());
  fit_report const done = run.fit(infinite, {.batch = 2, .epochs = 2, .validation = infinite});
  EXPECT_EQ(done.skipped, 8);
  EXPECT_EQ(run.epoch(), 2);
  run.fit(examples(weights), {.batch = 2, .validation = infinite});
  EXPECT_EQ(run.epoch(), 3);
}

TEST(weightless_epoch, does_not_end_find_learning_rate) {
  training run = trainer<narrow>(tiny);
  std::vector<float> weights(400, 1.0F);
  for (std::size_t i = 0; i < 100; ++i) weights[4 * i] = 0;  // some batches of one example have weight 0
  EXPECT_GT(find_learning_rate(run, examples(weights), {.steps = 60, .batch = 1}).rows.size(), 20U);
}

}  // namespace weightless_epoch_test
