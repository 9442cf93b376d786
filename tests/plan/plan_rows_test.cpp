// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/graph/network.hpp>

#include <string>
#include <vector>

#include "trial.hpp"

namespace plan_rows_test {

using namespace cohort;

double bytes(std::vector<plan_row> const& rows, std::string const& step, plan_pass direction,
             std::string const& implementation = {}) {
  for (plan_row const& row : rows)
    if (row.step == step && row.direction == direction
        && (implementation.empty() || row.implementation == implementation))
      return row.bytes;
  ADD_FAILURE() << "there is no row of " << step;
  return 0;
}

TEST(plan_rows, count_each_tensor_of_a_kernel_once) {
  graph const net = graph::build([](builder& b) {
    tensor const x = b.input({4}) | dense{.units = 8, .name = "wide"};
    (x + (x | tanh_activation{.name = "bend"})) | dense{.units = 3} | softmax_cross_entropy{};
  });
  trial<reference<double>> const t(net, {.batch = 5});
  std::vector<plan_row> const rows = t.plan->rows();
  double const element = sizeof(double);
  double const weights = 4 * 8 + 8, input = 5 * 4, output = 5 * 8;
  EXPECT_EQ(bytes(rows, "wide", plan_pass::forward), element * (weights + input + output));
  EXPECT_EQ(bytes(rows, "bend", plan_pass::forward), element * 2 * output);
  EXPECT_EQ(bytes(rows, "bend", plan_pass::backward, "accumulate"), element * 3 * output)
      << "x has two readers: one gradient is added to the other";
}

}  // namespace plan_rows_test
