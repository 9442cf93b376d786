// SPDX-License-Identifier: Apache-2.0
// Tests the rule for example weights, and advantages as targets, in every call that trains or evaluates.
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/parameter_averaging.hpp>
#include <cohort/strategy/threshold_sharing.hpp>
#include <cohort/training/find_learning_rate.hpp>
#include <cohort/training/trainer.hpp>
#include <cohort/training/training_loop.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "bright_thirds.hpp"
#include "parameters_of.hpp"

namespace example_weights_test {

using namespace cohort_test;

constexpr int count = 12;

/// Images with a weight each.
class weighted_images {
 public:
  explicit weighted_images(std::vector<float> weights) : weights_(std::move(weights)) {
    what_ = all_.describe();
    what_.weighted = true;
  }
  data_description const& describe() const { return what_; }
  std::int64_t size() const { return count; }
  void get(std::int64_t i, example_view& out) const {
    all_.get(i, out);
    out.weight = weights_[static_cast<std::size_t>(i)];
  }
  batch_view rows(int first, int n) const {
    return {tensor_view(examples_->pixels.data(), shape{count, 1, 8, 8}).rows(first, n),
            tensor_view(examples_->labels.data(), shape{count}).rows(first, n),
            std::span<float const>(weights_).subspan(static_cast<std::size_t>(first),
                                                     static_cast<std::size_t>(n))};
  }
  batch_view batch() const { return rows(0, count); }

 private:
  std::shared_ptr<bright_thirds> examples_ = std::make_shared<bright_thirds>(count);
  arrays all_{std::span<float const>(examples_->pixels), shape{1, 8, 8},
              std::span<std::int32_t const>(examples_->labels), 3};
  data_description what_;
  std::vector<float> weights_;
};

std::vector<float> ones_but(std::size_t which, float weight) {
  std::vector<float> all(count, 1.0F);
  all[which] = weight;
  return all;
}

TEST(example_weights, are_refused_by_every_call_if_negative_or_not_finite) {
  float const infinity = std::numeric_limits<float>::infinity();
  for (float const bad : {-1.0F, -1e-30F, infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
    auto const data = std::make_shared<weighted_images>(ones_but(7, bad));
    training run = trainer<reference<float>>(small);
    training_loop loop(run);
    std::string const before = run.checksum();
    for (auto const& [call, text] :
         {std::pair("fit", refusal_of<data_error>(
                               [&] { trainer<reference<float>>(small).fit(data, {.batch = 4}); })),
          std::pair("train_on", refusal_of<data_error>([&] { run.train_on(data->batch()); })),
          std::pair("training_loop", refusal_of<data_error>([&] { loop.forward(data->batch()); })),
          std::pair("loss_of", refusal_of<data_error>([&] { run.loss_of(data->batch()); })),
          std::pair("find_learning_rate",
                    refusal_of<data_error>([&] { find_learning_rate(run, data, {.steps = 9}); }))})
      EXPECT_EQ(
          text.rfind("the weight of an example is negative or not finite (example 7): expected a finite "
                     "number of at least 0, because the loss is the weighted mean; 0 excludes the "
                     "example. Factors of either sign, such as advantages, scale the target, got ",
                     0),
          0U)
          << call << ", " << bad << ": " << text;
    EXPECT_EQ(run.checksum(), before);
    std::vector<float> const good(count, 1.0F);
    EXPECT_TRUE(run.train_on({data->batch().inputs, data->batch().targets, good}).updated);
  }
}

TEST(example_weights, of_a_batch_are_refused_with_the_index_of_the_example) {
  weighted_images const data(ones_but(2, -1));
  std::vector<std::int64_t> indices(count);
  std::iota(indices.begin(), indices.end(), 100);
  batch_view one = data.batch();
  one.indices = indices;
  training run = trainer<reference<float>>(small);
  EXPECT_NE(refusal_of<data_error>([&] { run.train_on(one); }).find("(example 102)"), std::string::npos);
}

TEST(example_weights, that_are_all_zero_skip_the_step_and_are_logged) {
  auto const data = std::make_shared<weighted_images>(std::vector<float>(count, 0.0F));
  std::string said;
  training run = trainer<reference<float>>(
      small, {.log = [&](std::string_view text) { said += std::string(text) + '\n'; }});
  std::string const before = run.checksum();
  step_report const one = run.train_on(data->batch());
  EXPECT_FALSE(one.updated);
  EXPECT_EQ(one.weight, 0);
  EXPECT_NE(said.find("step skipped: the weights of all examples of step 0, epoch 0, are 0"),
            std::string::npos)
      << said;
  said.clear();
  training_loop loop(run);
  loop.forward(data->batch());
  loop.backward();
  EXPECT_FALSE(loop.step().updated);
  EXPECT_NE(said.find("the weights of all examples of step 1, epoch 0, are 0"), std::string::npos) << said;
  said.clear();
  EXPECT_NE(refusal_of<data_error>([&] {
              run.fit(data, {.batch = 6});
            }).find("no example of the epoch has a weight above 0"),
            std::string::npos);
  EXPECT_NE(said.find("the weights of all examples of step 2, epoch 0, are 0"), std::string::npos) << said;
  EXPECT_TRUE(std::isnan(run.loss_of(data->batch())));
  EXPECT_EQ(run.checksum(), before);
}

/// Rows of a batch of `count` examples on each of `ranks` ranks; one of three ranks has none.
std::pair<int, int> rows_of(int rank, int ranks) {
  std::vector<std::vector<std::pair<int, int>>> const parts{
      {{0, count}}, {{0, 5}, {5, count - 5}}, {{0, 3}, {3, 0}, {3, count - 3}}};
  return parts[static_cast<std::size_t>(ranks - 1)][static_cast<std::size_t>(rank)];
}

/// The parameters of rank 0 after step(run) on each rank.
template <class Backend, class Strategy, class Step>
std::vector<double> after(int ranks, Strategy const& how, Step step) {
  std::vector<double> found;
  launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    training run = trainer<Backend>(small, world, how, {.optimizer = {sgd{.learning_rate = 0.5}}});
    step(run);
    run.end_epoch();
    using real = std::conditional_t<std::is_same_v<Backend, reference<double>>, double, float>;
    std::vector<real> const all = parameters_of<real>(run);
    if (world.rank() == 0) found.assign(all.begin(), all.end());
  });
  return found;
}

double largest_gap(std::vector<double> const& a, std::vector<double> const& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

/// Makes a step on this rank's rows of the batch: at once, in micro-batches, or in parts.
void step_with(training& run, batch_view const& mine, int way) {
  if (way < 3) {
    run.train_on(mine, way + 1);
    return;
  }
  training_loop loop(run);
  int const half = mine.count / 2;
  for (batch_view const& part : {mine.rows(0, half), mine.rows(half, mine.count - half)}) {
    loop.forward(part);
    loop.backward();
  }
  loop.step();
}

TEST(example_weights, yield_a_mean_independent_of_their_scale) {
  std::vector<float> weights(count);
  for (std::size_t n = 0; n < count; ++n) weights[n] = static_cast<float>(n % 4) / 2;
  auto const scaled = [&](float by) {
    std::vector<float> all = weights;
    for (float& one : all) one *= by;
    return weighted_images(all);
  };
  auto const check = [&](auto const& how, float const by, double const tolerance) {
    for (int ranks : {1, 2, 3})
      for (int way : {0, 1, 2, 3}) {
        auto const trained = [&](weighted_images const& data) {
          return after<reference<float>>(ranks, how, [&](training& run) {
            auto const [first, n] = rows_of(run.world().rank(), ranks);
            step_with(run, data.rows(first, n), way);
          });
        };
        EXPECT_LT(largest_gap(trained(scaled(by)), trained(scaled(1))), tolerance)
            << by << ", ranks " << ranks << ", way " << way;
      }
  };
  for (float const by : {1e-3F, 1e-25F, 1e20F}) {
    check(allreduce{}, by, 1e-6);
    check(parameter_averaging{.every = 1}, by, 1e-6);
    training run = trainer<reference<float>>(small);
    EXPECT_NEAR(run.loss_of(scaled(by).batch()), run.loss_of(scaled(1).batch()), 1e-6);
    EXPECT_NEAR(run.train_on(scaled(by).batch()).loss,
                trainer<reference<float>>(small).train_on(scaled(1).batch()).loss, 1e-6);
  }
}

/// Actions and their advantages, as the targets of softmax_cross_entropy: advantage · one-hot action.
struct rollout {
  bright_thirds examples{count};
  std::vector<double> advantages;
  std::vector<float> targets = std::vector<float>(3 * count);

  explicit rollout(std::vector<double> of) : advantages(std::move(of)) {
    for (std::size_t n = 0; n < count; ++n)
      targets[3 * n + static_cast<std::size_t>(examples.labels[n])] = static_cast<float>(advantages[n]);
  }
  tensor_view images() const { return {examples.pixels.data(), shape{count, 1, 8, 8}}; }
  tensor_view values() const { return {targets.data(), shape{count, 3}}; }
  tensor_view actions() const { return {examples.labels.data(), shape{count}}; }
  dataset data() const {
    return arrays({{.name = "state", .values = images()}}, {{.name = "advantage", .values = values()}});
  }
};

/// Parameters after one step of rate 0.5 along −1/N Σ advantage · ∇(−log p(action)), from the gradients of
/// single examples; and the mean loss before the step.
struct expected_step {
  std::vector<double> parameters;
  double loss = 0;
};
expected_step by_single_examples(rollout const& of) {
  training run = trainer<reference<double>>(small, {.optimizer = {sgd{.learning_rate = 0.5}}});
  expected_step made{parameters_of(run)};
  std::vector<double> sum(made.parameters.size());
  training_loop loop(run);
  for (int n = 0; n < count; ++n) {
    training fresh = trainer<reference<double>>(small, {.optimizer = {no_op{}}});
    training_loop one(fresh);
    one.forward({of.images().rows(n, 1), of.actions().rows(n, 1)});
    double const advantage = of.advantages[static_cast<std::size_t>(n)];
    made.loss += advantage * one.loss() / count;
    one.backward();
    std::span<double const> const gradient = one.gradients<double>();
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += advantage * gradient[i] / count;
  }
  for (std::size_t i = 0; i < sum.size(); ++i) made.parameters[i] -= 0.5 * sum[i];
  return made;
}

std::vector<std::vector<double>> const advantages{
    {1, -1, 0.5, -0.5, 2, -2, 0.25, -0.25, 3, -3, 0, 0},           // sum 0
    {-1, -2, -0.5, -0.5, 2, -2, 0.25, -0.25, 3, -3, 0, -4},        // negative sum
    {1, -1, 0.5, -0.5, 2, -2, 0.25, -0.25, 3, -3, 0.00390625, 0},  // a sum of 0.004
    {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5},
};

TEST(advantages, as_targets_yield_the_policy_gradient_for_any_sign_and_sum) {
  for (std::vector<double> const& one : advantages) {
    rollout const all(one);
    expected_step const wanted = by_single_examples(all);
    training run = trainer<reference<double>>(small, {.optimizer = {sgd{.learning_rate = 0.5}}});
    EXPECT_NEAR(run.loss_of({all.images(), all.values()}), wanted.loss, 1e-12);
    EXPECT_NEAR(run.train_on({all.images(), all.values()}).loss, wanted.loss, 1e-12);
    EXPECT_LT(largest_gap(parameters_of(run), wanted.parameters), 1e-12);
    training fitted = trainer<reference<double>>(small, {.optimizer = {sgd{.learning_rate = 0.5}}});
    EXPECT_NEAR(fitted.fit(all.data(), {.batch = count}).loss, wanted.loss, 1e-12);
    EXPECT_LT(largest_gap(parameters_of(fitted), wanted.parameters), 1e-12);
    for (int ranks : {1, 2, 3})
      for (int way : {0, 1, 2, 3}) {
        auto const check = [&](auto const& how) {
          std::vector<double> const got = after<reference<double>>(ranks, how, [&](training& made) {
            auto const [first, n] = rows_of(made.world().rank(), ranks);
            step_with(made, {all.images().rows(first, n), all.values().rows(first, n)}, way);
          });
          EXPECT_LT(largest_gap(got, wanted.parameters), 1e-12) << "ranks " << ranks << ", way " << way;
        };
        check(allreduce{});
        check(parameter_averaging{.every = 1});
      }
  }
}

}  // namespace example_weights_test
