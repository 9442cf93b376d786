// SPDX-License-Identifier: Apache-2.0
#include "counted_new.hpp"

#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/plan/parameter_update.hpp>

#include "trial.hpp"

namespace allocation_test {

using namespace cohort;

TEST(allocation, does_not_happen_in_a_step) {
  if (!counts_allocations) GTEST_SKIP() << "the sanitizer has its own operator new";
  graph const net = graph::build([](builder& b) {
    tensor const x =
        b.input({1, 12, 12}) | conv2d{.filters = 3, .kernel = 3} | relu{} | max_pool{.window = 2};
    tensor const y = x | conv2d{.filters = 3, .kernel = 3, .padding = 1};
    concat(x + y, y) | dense{.units = 6} | leaky_relu{} | dense{.units = 4} | softmax_cross_entropy{};
  });
  trial<reference<double>> t(net, {.batch = 3});
  long announced = 0;
  ready_function const ready = [&](bucket const&) { ++announced; };
  for (int warm = 0; warm < 2; ++warm) {
    t.step();
    t.step(true, &ready);
  }
  allocations = 0;
  counting = true;
  double sum = t.step();
  sum += t.step(true, &ready);
  EXPECT_EQ(allocations, 0);
  EXPECT_GT(sum, 0);
  EXPECT_GT(announced, 0);
  std::vector<double>(3).swap(t.batch.inputs[0]);
  counting = false;
  EXPECT_EQ(allocations, 1) << "it would have been seen";
}

TEST(allocation, does_not_happen_in_an_update_with_norms_and_constraints) {
  if (!counts_allocations) GTEST_SKIP() << "the sanitizer has its own operator new";
  graph const net = graph::build([](builder& b) {
    return b.input({8}) | dense{.units = 6} | relu{} | dense{.units = 4} | softmax_cross_entropy{};
  });
  trial<reference<float>> t(net, {.batch = 3});
  parameter_update update(*t.store, {.updater = lamb{},
                                     .normalisation = normalise::clip_global_norm{1},
                                     .constraint = constraint::max_norm{0.5},
                                     .layers = {{.layer = "dense_2", .updater = adam{}, .l1 = 1e-3}}});
  std::byte* const parts[]{t.run->gradients()};
  allocations = 0;
  for (int step = 0; step < 4; ++step) {
    t.step();
    counting = step >= 2;
    update.run(0, 1, parts, step, 0, [] {});
    counting = false;
  }
  EXPECT_EQ(allocations, 0);
}

}  // namespace allocation_test
