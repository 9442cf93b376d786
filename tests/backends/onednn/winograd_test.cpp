// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/detail/thread_scope.hpp>
#include <cohort/backend/reference.hpp>
#include <cohort/onednn.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "../../plan/trial.hpp"

namespace winograd_test {

using namespace cohort;

struct problem {
  char const* name;
  int height, width, channels, filters, kernel;
  padding pad;
  int batch;
};

/// Odd sizes cut tiles at the edges.
constexpr problem problems[]{{"3x3 same", 12, 12, 32, 48, 3, padding::same, 1},
                             {"3x3 without padding", 15, 11, 48, 32, 3, padding::valid, 3},
                             {"3x3 with more padding than it needs", 9, 13, 32, 32, 3, 2, 2},
                             {"2x2 same", 16, 16, 64, 32, 2, padding::same, 2},
                             {"2x2 without padding", 20, 23, 32, 64, 2, padding::valid, 1},
                             {"several chunks", 40, 40, 64, 128, 2, padding::same, 3}};

graph network_of(problem const& p, int follows) {
  return graph::build([&](builder& net) {
    tensor const x =
        net.input({p.channels, p.height, p.width})
        | conv2d{.filters = p.filters, .kernel = p.kernel, .padding = p.pad, .bias = follows != 1};
    if (follows == 1) x | relu{};
    if (follows == 2) x | batch_norm{} | leaky_relu{.slope = 0.1};
  });
}

bool takes_winograd(plan const& made) {
  auto const rows = made.rows();
  return std::any_of(rows.begin(), rows.end(),
                     [](plan_row const& row) { return row.implementation.starts_with("winograd"); });
}

TEST(winograd, predicts_like_the_reference) {
  for (problem const& p : problems)
    for (int const follows : {0, 1, 2}) {
      graph const net = network_of(p, follows);
      trial<onednn> one(net, {.batch = p.batch, .training = false});
      trial<reference<double>> oracle(net, {.batch = p.batch, .training = false});
      EXPECT_TRUE(takes_winograd(*one.plan)) << p.name;
      one.forward();
      oracle.forward();
      std::vector<float> const got = one.output();
      std::vector<double> const wanted = oracle.output();
      ASSERT_EQ(got.size(), wanted.size());
      double largest = 0, off = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        largest = std::max(largest, std::abs(wanted[i]));
        off = std::max(off, std::abs(static_cast<double>(got[i]) - wanted[i]));
      }
      EXPECT_LT(off, 1e-5 * largest) << p.name << ", " << follows;
    }
}

TEST(winograd, is_bitwise_equal_for_any_number_of_threads) {
  for (problem const& p : problems) {
    graph const net = network_of(p, 2);
    std::vector<std::vector<float>> found;
    for (int const threads : {1, 2, 3}) {
      detail::thread_scope<onednn> const scope(threads);
      trial<onednn> one(net, {.batch = p.batch, .training = false});
      one.forward();
      one.forward();
      found.push_back(one.output());
    }
    EXPECT_EQ(found[0], found[1]) << p.name;
    EXPECT_EQ(found[0], found[2]) << p.name;
  }
}

TEST(winograd, has_separate_memory_in_each_context) {
  graph const net = network_of(problems[0], 0);
  trial<onednn> one(net, {.batch = 1, .training = false});
  auto const other = one.plan->make_context();
  example_batch<float> const apart(net, 1, 7);
  one.forward();
  std::vector<float> const before = one.output();
  other->forward({.inputs = apart.input_views});
  EXPECT_EQ(one.output(), before);
  auto const values = other->output().as<float>();
  EXPECT_NE(std::vector<float>(values.begin(), values.end()), before);
}

TEST(winograd, uses_updated_weights) {
  graph const net = network_of(problems[0], 0);
  trial<onednn> one(net, {.batch = 1, .training = false});
  one.forward();
  std::vector<float> const before = one.output();
  auto weights = one.dense(0, one.store->master());
  for (float& w : weights) w *= 2;
  one.store->write(0, reinterpret_cast<std::byte const*>(weights.data()), one.store->master());
  auto bias = one.dense(1, one.store->master());
  for (float& b : bias) b *= 2;
  one.store->write(1, reinterpret_cast<std::byte const*>(bias.data()), one.store->master());
  one.store->mark_changed();
  one.store->refresh_stale();
  one.forward();
  std::vector<float> const after = one.output();
  for (std::size_t i = 0; i < after.size(); ++i) ASSERT_EQ(after[i], 2 * before[i]);
}

TEST(winograd, is_not_used_for_unsuitable_convolutions) {
  auto const takes = [](conv2d const& l, shape const& input, int batch = 8) {
    graph const net = graph::build([&](builder& b) { return b.input(input) | l | softmax{}; });
    return takes_winograd(*trial<onednn>(net, {.batch = batch, .training = false}).plan);
  };
  EXPECT_TRUE(takes({.filters = 32, .kernel = 3}, {32, 12, 12}));
  EXPECT_FALSE(takes({.filters = 32, .kernel = 3, .stride = 2}, {32, 12, 12}));
  EXPECT_FALSE(takes({.filters = 32, .kernel = 3, .dilation = 2}, {32, 12, 12}));
  EXPECT_FALSE(takes({.filters = 32, .kernel = 3, .groups = 2}, {32, 12, 12}));
  EXPECT_FALSE(takes({.filters = 32, .kernel = 5}, {32, 12, 12}));
  EXPECT_FALSE(takes({.filters = 32, .kernel = 3}, {16, 12, 12})) << "few channels";
  EXPECT_FALSE(takes({.filters = 40, .kernel = 3}, {32, 12, 12})) << "blocks of 16";
  EXPECT_FALSE(takes({.filters = 32, .kernel = 3}, {32, 12, 12}, 1)) << "few tiles";
  EXPECT_FALSE(takes({.filters = 32, .kernel = 3}, {32, 3, 3}, 64)) << "a tile for one pixel";
}

TEST(winograd, is_not_used_in_training) {
  graph const net = graph::build([](builder& b) {
    return b.input({32, 12, 12}) | conv2d{.filters = 32, .kernel = 3} | dense{.units = 3}
           | softmax_cross_entropy{};
  });
  EXPECT_FALSE(takes_winograd(*trial<onednn>(net, {.batch = 4}).plan));
}

}  // namespace winograd_test
