// SPDX-License-Identifier: Apache-2.0
// covers: onednn/backend
#include <gtest/gtest.h>
#include <cohort/onednn.hpp>

#include <cohort/backend/reference.hpp>
#include <cohort/graph/network.hpp>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../../backend/operations.hpp"
#include "../../data/refused.hpp"
#include "../../plan/trial.hpp"
#include "networks.hpp"

namespace onednn_test {

using namespace cohort;
using namespace onednn_test;

TEST(onednn, is_usable_on_this_machine) {
  availability const found = onednn::probe();
  EXPECT_TRUE(found.usable) << found.reason;
}

TEST(onednn, sets_the_number_of_threads_per_calling_thread) {
  int const former = onednn::threads(3);
  EXPECT_EQ(onednn::threads(2), 3);
  std::thread([] {
    onednn::threads(5);
    EXPECT_EQ(onednn::threads(1), 5);
  }).join();
  EXPECT_EQ(onednn::threads(former), 2) << "another thread's count is its own";
  EXPECT_EQ(onednn::threads(former), former);
}

TEST(onednn, runs_no_reference_implementation) {
  auto const expect_none = [](graph const& net, bool training) {
    for (plan_row const& row : trial<onednn>(net, {.batch = 8, .training = training}).plan->rows())
      EXPECT_FALSE(row.implementation.starts_with("ref")) << row.step;
  };
  for (graph const& net : {lenet(), odd()}) {
    expect_none(net, true);
    expect_none(net, false);
  }
  operations::each_row(
      [&](operations::row const& r) { expect_none(operations::network_of(r, 1, true), true); });
}

TEST(onednn, multiplies_matrices_by_onednns_primitive_unless_broadcast) {
  auto const implementations = [](shape const& left, shape const& right) {
    graph const net = graph::build([&](builder& b) {
      tensor const x = b.input({6});
      auto const made = [&](shape const& dims) {
        return x | dense{.units = static_cast<int>(dims.elements())} | reshape{.extents = dims};
      };
      join(matmul{}, made(left), made(right)) | dense{.units = 2} | softmax_cross_entropy{};
    });
    std::vector<std::string> found;
    for (plan_row const& row : trial<onednn>(net, {.batch = 8}).plan->rows())
      if (row.step == "matmul_1") found.push_back(row.implementation);
    return found;
  };
  std::vector<std::string> const primitives = implementations({2, 16, 24}, {2, 24, 8});
  EXPECT_EQ(primitives.size(), 3U);
  for (std::string const& one : primitives) EXPECT_FALSE(one.starts_with("host:")) << one;
  for (std::string const& one : implementations({2, 16, 24}, {24, 8})) EXPECT_EQ(one, "host:matmul");
}

TEST(onednn, reports_the_reorders_that_copy_gradients_of_a_join) {
  graph const net = graph::build([](builder& b) {
    tensor const x = b.input({4, 8, 8}) | conv2d{.filters = 16, .kernel = 3, .padding = padding::same};
    tensor const sum = x + (x | conv2d{.filters = 16, .kernel = 1});
    concat(sum, x | conv2d{.filters = 16, .kernel = 1}) | dense{.units = 2} | softmax_cross_entropy{};
  });
  int parts = 0;
  std::string const said = "reorder ";
  for (plan_row const& row : trial<onednn>(net, {.batch = 8}).plan->rows()) {
    if (row.direction != plan_pass::backward || !row.implementation.starts_with(said)) continue;
    EXPECT_GT(row.implementation.size(), said.size()) << row.step;
    EXPECT_NE(row.step, "add_1");  // its gradient is forwarded
    parts += row.step == "concatenate_1";
  }
  EXPECT_EQ(parts, 2);
}

std::vector<std::string> backward_steps(graph const& net, std::string const& step) {
  std::vector<std::string> made;
  for (plan_row const& row : trial<onednn>(net, {.batch = 8}).plan->rows())
    if (row.direction == plan_pass::backward && row.step == step && row.flops > 0)
      made.push_back(row.implementation);
  return made;
}

TEST(onednn, does_not_compute_the_gradient_of_the_networks_input) {
  EXPECT_EQ(backward_steps(lenet(), "conv2d_1").size(), 1U) << "weights alone";
  EXPECT_EQ(backward_steps(lenet(), "conv2d_2").size(), 2U) << "weights and data";
}

TEST(onednn, fuses_activations_and_runs_relu_after_the_pool) {
  std::string forward;
  for (plan_row const& row : trial<onednn>(lenet(), {.batch = 8}).plan->rows())
    if (row.direction == plan_pass::forward && row.implementation != "reorder") forward += row.step + "; ";
  EXPECT_EQ(forward,
            "conv2d_1; max_pool_1; relu_1; conv2d_2; max_pool_2; relu_2; dense_1 + relu_3; dense_2; "
            "softmax_cross_entropy_1; ");
}

TEST(onednn, preserves_all_outputs_until_the_end_of_forward) {
  graph const net = graph::build([](builder& b) {
    tensor x = b.input({2, 6, 6});
    for (int i = 0; i < 5; ++i) x | conv2d{.filters = 3 + i, .kernel = 3};
  });
  trial<onednn> t(net, {.batch = 2, .training = false});
  trial<reference<double>> wanted(net, {.batch = 2, .training = false});
  t.run->forward(t.batch.input_views, {});
  wanted.run->forward(wanted.batch.input_views, {});
  for (int o = 0; o < 5; ++o) {
    auto const got = t.output(o);
    auto const right = wanted.output(o);
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], right[i], 1e-5) << o;
  }
}

TEST(onednn, computes_equal_outputs_on_threads_that_share_a_plan) {
  graph const net = lenet();
  int const former = onednn::threads(1);
  trial<onednn> t(net, {.batch = 4, .training = false});
  t.run->forward(t.batch.input_views, {});
  auto const wanted = t.output();
  std::vector<std::vector<float>> got(3);
  std::vector<std::thread> team;
  for (auto& one : got)
    team.emplace_back([&] {
      onednn::threads(1);
      auto const run = t.plan->make_context();
      run->forward(t.batch.input_views[0]);
      auto const values = run->output().as<float>();
      one.assign(values.begin(), values.end());
    });
  for (std::thread& one : team) one.join();
  for (auto const& one : got) EXPECT_EQ(one, wanted);
  onednn::threads(former);
}

}  // namespace onednn_test
