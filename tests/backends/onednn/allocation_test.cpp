// SPDX-License-Identifier: Apache-2.0
#include "../../plan/counted_new.hpp"

#include <gtest/gtest.h>
#include <cohort/graph/network.hpp>
#include <cohort/onednn.hpp>

#include "../../plan/trial.hpp"

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
  trial<onednn> t(net, {.batch = 3});
  for (int warm = 0; warm < 3; ++warm) {
    t.step(warm == 1);
    t.store->refresh(0, 1);
  }
  not_ours = "dnnl";  // executing a primitive allocates its context
  allocations = 0;
  counting = true;
  double sum = t.step();
  t.store->refresh(0, 1);
  sum += t.step(true);
  EXPECT_EQ(allocations, 0);
  std::vector<float>(3).swap(t.batch.inputs[0]);
  counting = false;
  EXPECT_EQ(allocations, 1) << "it would have been seen";
  EXPECT_GT(sum, 0);
}

}  // namespace allocation_test
