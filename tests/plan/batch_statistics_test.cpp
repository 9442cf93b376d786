// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/plan/batch_statistics.hpp>
#include <cohort/plan/make_plan.hpp>
#include <cohort/plan/parameter_store.hpp>
#include <cohort/training/trainer.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace batch_statistics_test {

using namespace cohort;
using B = reference<double>;

/// Two channels of 2×3 elements. Each example has a different mean, so that parts of a batch differ.
struct examples {
  static constexpr int channels = 2, area = 6;
  int count;
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;

  explicit examples(int n) : count(n) {
    random_stream const noise(5, "examples");
    for (int i = 0; i < n * channels * area; ++i)
      pixels.push_back(noise.normal<float>(static_cast<std::uint64_t>(i))
                       + static_cast<float>(i / (channels * area)));
    for (int i = 0; i < n; ++i) labels.push_back(i % 3);
  }
  dataset data() const {
    return arrays(std::span<float const>(pixels), shape{channels, 2, 3},
                  std::span<std::int32_t const>(labels), 3);
  }
  /// Mean and biased variance of a channel over examples first … last − 1, by two plain sums.
  std::pair<double, double> statistics(int channel, int first, int last) const {
    double sum = 0, squares = 0;
    for (int pass = 0; pass < 2; ++pass)
      for (int n = first; n < last; ++n)
        for (int i = 0; i < area; ++i) {
          double const x = pixels[static_cast<std::size_t>((n * channels + channel) * area + i)];
          if (pass == 0)
            sum += x;
          else
            squares += std::pow(x - sum / ((last - first) * area), 2);
        }
    return {sum / ((last - first) * area), squares / ((last - first) * area)};
  }
};

/// The first layer normalises the batch itself, so its statistics depend on the data only.
graph const net = graph::build([](builder& b) {
  return b.input({2, 2, 3}) | batch_norm{.name = "norm"} | conv2d{.filters = 3, .kernel = 2} | relu{}
         | batch_norm{.momentum = 0.5} | dense{.units = 3} | softmax_cross_entropy{};
});

std::vector<double> values(training const& of, std::string const& name) {
  parameter_set const& all = of.parameters();
  for (std::size_t p = 0; p < all.table().size(); ++p) {
    if (all.table()[p].name != name) continue;
    std::vector<double> dense(static_cast<std::size_t>(all.table()[p].spec.dims.elements()));
    all.read(static_cast<int>(p), all.master(), reinterpret_cast<std::byte*>(dense.data()));
    return dense;
  }
  ADD_FAILURE() << "no parameter " << name;
  return {};
}

training trained(int workers, examples const& data, fit_settings const& how) {
  training made = trainer<B>(net, {.optimizer = {sgd{.learning_rate = 0.1}}, .seed = 3, .workers = workers});
  made.fit(data.data(), how);
  return made;
}

TEST(batch_statistics, follow_the_whole_batch_for_any_number_of_workers) {
  examples const data(
      20);  // batches of 8, 8 and 4: parts of 3, 3 and 2, and of 2, 1 and 1 examples with three workers
  for (int workers : {1, 2, 3}) {
    training const made = trained(workers, data, {.batch = 8, .epochs = 2, .shuffle = false});
    for (int c = 0; c < examples::channels; ++c) {
      double mean = 0, variance = 1;
      for (int epoch = 0; epoch < 2; ++epoch)
        for (int first = 0; first < 20; first += 8) {
          auto const [of_batch, spread] = data.statistics(c, first, std::min(first + 8, 20));
          mean = 0.9 * mean + 0.1 * of_batch;
          variance = 0.9 * variance + 0.1 * spread;
        }
      EXPECT_NEAR(values(made, "norm.running_mean")[std::size_t(c)], mean, 1e-12) << workers << " workers";
      EXPECT_NEAR(values(made, "norm.running_variance")[std::size_t(c)], variance, 1e-11)
          << workers << " workers";
    }
  }
}

TEST(batch_statistics, are_independent_of_workers_if_examples_are_equal) {
  examples data(6);  // six equal examples, so parts of every size are normalised equally
  for (std::size_t i = 12; i < data.pixels.size(); ++i) data.pixels[i] = data.pixels[i % 12];
  std::fill(data.labels.begin(), data.labels.end(), 1);
  training const one = trained(1, data, {.batch = 6, .epochs = 3});
  for (int workers : {2, 3}) {
    training const made = trained(workers, data, {.batch = 6, .epochs = 3});
    for (parameter const& p : one.parameters().table()) {
      auto const got = values(made, p.name), wanted = values(one, p.name);
      for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-12) << p.name;
    }
  }
  EXPECT_NE(values(one, "batch_norm_2.running_mean"), (std::vector<double>{0, 0, 0}));
}

TEST(batch_statistics, weigh_parts_by_their_example_weights) {
  // Two parts of three and one examples, of weights 1 and 5.
  auto const store = std::make_shared<parameter_store<B>>(B{}, net);
  auto const plan = make_plan(store, net, {.batch = 1});
  store->initialise(1);
  batch_statistics of_step(*store, 2);
  ASSERT_EQ(of_step.layers().size(), 2U);
  ASSERT_EQ(of_step.channels(), 5U);
  of_step.part(0)[1] = {3, 2, 4};
  of_step.part(1)[1] = {5, -1, 0.5};
  of_step.merge_workers();
  std::vector<std::byte> const before(store->master(), store->master() + store->arena_bytes());
  of_step.follow(*store, {.first = of_step.layers()[1].parameter});
  EXPECT_EQ(std::memcmp(before.data(), store->master(), before.size()), 0)
      << "no examples of the second norm";
  of_step.follow(*store);
  double const whole = 3.0 / 8 * 2 - 5.0 / 8;
  double const spread = 3.0 / 8 * (4 + std::pow(2 - whole, 2)) + 5.0 / 8 * (0.5 + std::pow(-1 - whole, 2));
  auto const* const master = reinterpret_cast<double const*>(store->master());
  auto const at = [&](std::string const& name) {
    for (parameter const& p : store->table())
      if (p.name == name) return master + p.offset;
    throw std::out_of_range(name);
  };
  EXPECT_EQ(at("norm.running_mean")[0], 0) << "a channel without examples";
  EXPECT_EQ(at("norm.running_variance")[0], 1);
  EXPECT_NEAR(at("norm.running_mean")[1], 0.1 * whole, 1e-15);
  EXPECT_NEAR(at("norm.running_variance")[1], 0.9 + 0.1 * spread, 1e-15);
}

TEST(batch_statistics, are_combined_accurately_even_far_from_zero) {
  using moments = batch_statistics::moments;
  random_stream const draw(3, "moments");
  std::uint64_t drawn = 0;
  for (int i = 0; i < 10000; ++i) {
    double const offset = std::pow(10, 7 * draw.uniform01(drawn++));
    moments merged{};
    std::vector<moments> parts;
    for (int part = 0; part < 5; ++part) {
      parts.push_back({std::floor(9 * draw.uniform01(drawn++)), offset + draw.normal<double>(drawn),
                       part == 0 ? 0 : draw.uniform01(drawn + 1)});
      drawn += 2;
      merged = detail::combine_moments(merged, parts.back());
      ASSERT_GE(merged.variance, 0);
    }
    long double weight = 0, mean = 0, variance = 0;
    for (moments const& one : parts) weight += static_cast<long double>(one.weight);
    if (weight == 0) continue;
    for (moments const& one : parts) mean += one.weight / weight * one.mean;
    for (moments const& one : parts)
      variance += one.weight / weight * (one.variance + (one.mean - mean) * (one.mean - mean));
    EXPECT_NEAR(merged.mean, static_cast<double>(mean), 1e-14 * offset);
    double const rounding = 1e-15 * offset;  // of the distances between means
    EXPECT_NEAR(merged.variance, static_cast<double>(variance), rounding) << offset;
  }
}

TEST(batch_statistics, ignore_weights_that_are_not_positive) {
  batch_statistics::moments const some{2, 5, 1};
  for (double const weight : {0.0, -1.0, std::nan("")}) {
    auto const merged = detail::combine_moments(some, {weight, 1e9, 1e9});
    EXPECT_EQ(merged.mean, 5);
    EXPECT_EQ(merged.variance, 1);
    EXPECT_EQ(detail::combine_moments({weight, 1e9, 1e9}, some).mean, 5);
    EXPECT_EQ(detail::followed_variance(0.25, {weight, 1e9, 1e9}, 0.5), 0.25);
  }
}

}  // namespace batch_statistics_test
