// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/backend/reference.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/plan/parameter_update.hpp>

#include "allocation_cases.hpp"

namespace allocation_test {

using namespace cohort;

TEST(allocation, does_not_happen_in_a_step) { expect_no_allocation_in_a_step<reference<double>>(); }

TEST(allocation, does_not_happen_in_an_update_with_norms_and_constraints) {
  if (!counts_allocations) GTEST_SKIP() << "the sanitizer has its own operator new";
  graph const net = graph::build([](builder& b) {
    return b.input({8}) | dense{.units = 6} | relu{} | dense{.units = 4} | softmax_cross_entropy{};
  });
  trial<reference<float>> t(net, {.batch = 3});
  parameter_update update(*t.store, {.rule = lamb{},
                                     .normalisation = normalise::clip_global_norm{1},
                                     .constraint = constraint::max_norm{0.5},
                                     .layers = {{.layer = "dense_2", .rule = adam{}, .l1 = 1e-3}}});
  std::byte* const parts[]{t.run->gradients()};
  allocations = 0;
  for (int step = 0; step < 4; ++step) {
    t.step();
    counting = step >= 2;
    update.run({.parts = parts, .step = step}, [] {});
    counting = false;
  }
  EXPECT_EQ(allocations, 0);
}

}  // namespace allocation_test
