// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/fit_normalisation.hpp>
#include <cohort/data/normalisation.hpp>
#include <cohort/training/find_learning_rate.hpp>
#include <string>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "../strategy/rank_cases.hpp"

namespace find_learning_rate_test {

using namespace cohort_test;

training_settings const usual{.optimizer = {.rule = momentum{.learning_rate = 0.02}, .l2 = 1e-4}};

TEST(find_learning_rate, tabulates_the_loss_at_growing_rates) {
  bright_thirds const examples(300);
  training run = trainer<wide>(small, usual);
  rate_table const table =
      find_learning_rate(run, examples.data(), {.from = 1e-5, .to = 100, .steps = 71, .batch = 20});
  ASSERT_GT(table.rows.size(), 40U);
  EXPECT_LT(table.rows.size(), 71U) << "it ends when the loss has grown";
  double average = 0, decay = 1;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    EXPECT_NEAR(table.rows[i].rate, 1e-5 * std::pow(10, static_cast<double>(i) / 10), 1e-9);
    average = 0.9 * average + 0.1 * table.rows[i].loss;
    decay *= 0.9;
    EXPECT_NEAR(table.rows[i].smoothed, average / (1 - decay), 1e-12);
  }
  EXPECT_NEAR(table.rows[0].loss, 1.1, 0.3) << "near ln 3";
  ASSERT_TRUE(table.suggested);
  EXPECT_GT(*table.suggested, 1e-3);
  EXPECT_LT(*table.suggested, 2);
  EXPECT_EQ(table.csv().rfind("rate,loss,smoothed\n1e-05,", 0), 0U) << table.csv().substr(0, 60);
}

/// Noisy examples: the loss of a small batch is an inaccurate estimate of the loss of all examples.
struct noisy_lines {
  std::vector<float> x, y;
  explicit noisy_lines(std::uint64_t seed) {
    random_stream const numbers(seed, "noisy lines");
    for (std::uint64_t n = 0; n < 200; ++n) {
      x.push_back(numbers.normal(2 * n));
      y.push_back(x.back() + 0.7F * numbers.normal(2 * n + 1));
    }
  }
  dataset data() const {
    return arrays({{.name = "x", .values = {x.data(), {200, 1}}}},
                  {{.name = "y", .values = {y.data(), {200, 1}}}});
  }
};

TEST(find_learning_rate, suggests_a_usable_rate_despite_noisy_batches) {
  constexpr auto line = network<[](builder& net) {
    return net.input({1}) | dense{.units = 16} | relu{} | dense{.units = 1} | mean_squared_error{};
  }>();
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    noisy_lines const examples(seed);
    training run = trainer<narrow>(line, {.optimizer = {adam{}}, .seed = seed});
    rate_table const table =
        find_learning_rate(run, examples.data(), {.from = 1e-6, .to = 1, .steps = 90, .batch = 8});
    ASSERT_TRUE(table.suggested) << seed;
    EXPECT_GT(*table.suggested, 2e-4) << seed;  // below, the steps change next to nothing
    EXPECT_LT(*table.suggested, 0.3) << seed;
  }
}

TEST(find_learning_rate, suggests_no_rate_if_the_loss_grows) {
  noisy_lines const examples(1);
  constexpr auto line =
      network<[](builder& net) { return net.input({1}) | dense{.units = 1} | mean_squared_error{}; }>();
  training run = trainer<narrow>(line, {.optimizer = {sgd{}}});
  EXPECT_FALSE(
      find_learning_rate(run, examples.data(), {.from = 30, .to = 3000, .steps = 9, .batch = 200}).suggested);
}

TEST(find_learning_rate, does_not_change_the_run) {
  bright_thirds const examples(60);
  auto const trained = [&](int ranks, auto how, bool searches) {
    std::vector<std::string> sums(static_cast<std::size_t>(ranks));
    launch<threads>(ranks, [&](communicator& world) {
      training run = trainer<narrow>(small, world, how, with_state(2));
      run.fit(examples.data(), {.batch = 5});
      if (searches) {
        std::string const before = run.checksum();
        rate_table const first = find_learning_rate(run, examples.data(), {.steps = 20, .batch = 5}),
                         again = find_learning_rate(run, examples.data(), {.steps = 20, .batch = 5});
        EXPECT_EQ(run.checksum(), before);
        EXPECT_EQ(first.csv(), again.csv());
        EXPECT_TRUE(same_text(world, first.csv()));
      }
      run.fit(examples.data(), {.batch = 5, .epochs = 2});
      sums[static_cast<std::size_t>(world.rank())] = run.checksum();
    });
    return sums;
  };
  EXPECT_EQ(trained(1, no_exchange(), true), trained(1, no_exchange(), false));
  EXPECT_EQ(trained(2, allreduce{}, true), trained(2, allreduce{}, false));
  EXPECT_EQ(trained(2, parameter_averaging{.every = 4}, true),
            trained(2, parameter_averaging{.every = 4}, false));
}

TEST(find_learning_rate, is_independent_of_the_number_of_ranks) {
  bright_thirds const examples(96);
  auto const losses = [&](int ranks) {
    std::vector<double> all;
    launch<threads>(ranks, [&](communicator& world) {
      training run = trainer<wide>(small, world, parameter_averaging{.every = 2}, plain_sgd());
      rate_table const table =
          find_learning_rate(run, examples.data(), {.from = 1e-3, .steps = 10, .batch = 12 / ranks});
      if (world.rank() == 0)
        for (rate_table::row const& one : table.rows) all.push_back(one.loss);
    });
    return all;
  };
  EXPECT_LT(largest_difference(losses(1), losses(3)), 1e-10);
}

TEST(find_learning_rate, considers_rates_of_layers_and_stops_if_the_loss_is_not_finite) {
  bright_thirds const examples(60);
  training_settings settings = plain_sgd();
  settings.optimizer.layers = {{.layer = "dense_2", .rule = sgd{.learning_rate = 0.2}}};
  training run = trainer<wide>(small, settings), plain = trainer<wide>(small, plain_sgd());
  rate_search const how{.from = 1e-2, .to = 1e-1, .steps = 5, .batch = 10};
  EXPECT_NE(find_learning_rate(run, examples.data(), how).csv(),
            find_learning_rate(plain, examples.data(), how).csv());
  training narrow_run = trainer<narrow>(small, plain_sgd());
  std::string const before = narrow_run.checksum();
  rate_table const wild = find_learning_rate(
      narrow_run, examples.data(), {.from = 1e30, .to = 1e35, .steps = 50, .batch = 10, .stop_at = 1e300});
  EXPECT_LT(wild.rows.size(), 50U);
  EXPECT_EQ(narrow_run.checksum(), before);
}

TEST(find_learning_rate, rescales_the_data_as_fit_does) {
  bright_thirds const examples(60);
  normalisation const fitted = fit_normalisation(examples.data());
  training plain = trainer<narrow>(small, plain_sgd()), rescaling = trainer<narrow>(small, plain_sgd());
  rescaling.normalise(fitted);
  rate_search const how{.steps = 10, .batch = 10};
  EXPECT_EQ(find_learning_rate(rescaling, examples.data(), how).csv(),
            find_learning_rate(plain, normalised(examples.data(), fitted), how).csv());
  EXPECT_NE(find_learning_rate(rescaling, examples.data(), how).csv(),
            find_learning_rate(plain, examples.data(), how).csv());
}

TEST(find_learning_rate, refuses_ranks_with_different_settings) {
  bright_thirds const examples(30);
  launch<threads>(2, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    training run = trainer<narrow>(small, world, allreduce{});
    EXPECT_EQ(
        refusal_of<setting_error>(
            [&] { find_learning_rate(run, examples.data(), {.steps = 5 + world.rank(), .batch = 5}); }),
        "the ranks of this run differ (range test): expected the same value on every rank, got range test: "
        "from 1e-06 to 1 in 5 steps, smoothing 0.9, stop_at 4 on rank 0; from 1e-06 to 1 in 6 steps, "
        "smoothing 0.9, stop_at 4 on rank 1");
  });
}

TEST(find_learning_rate, refuses_invalid_settings) {
  bright_thirds const examples(30);
  training run = trainer<narrow>(small);
  EXPECT_EQ(
      refusal_of<setting_error>([&] { find_learning_rate(run, examples.data(), {.from = 1, .to = 0.1}); }),
      "invalid settings of a learning-rate range test (find_learning_rate): expected 0 < from < to, steps ≥ "
      "3, 0 ≤ "
      "smoothing < 1, stop_at > 1, got from 1, to 0.1, steps 100, smoothing 0.9, stop_at 4");
  for (rate_search const& how : {rate_search{.from = 0}, rate_search{.steps = 2}, rate_search{.smoothing = 1},
                                 rate_search{.stop_at = 1}, rate_search{.batch = 0}})
    EXPECT_THROW(find_learning_rate(run, examples.data(), how), setting_error);
}

}  // namespace find_learning_rate_test
