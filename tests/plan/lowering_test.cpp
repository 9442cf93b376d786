// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/graph/graph.hpp>
#include <cohort/plan/detail/lowering.hpp>

#include <string>
#include <vector>

namespace lowering_test {

using namespace cohort;
using namespace cohort::detail;

bool nothing(kind const&, kind const&) { return false; }
bool rectifiers(kind const& a, kind const& b) {
  return (a == kind_of<conv2d> || a == kind_of<dense>)&&(b == kind_of<relu> || b == kind_of<leaky_relu>);
}

template <class F>
std::string steps(F describe, bool fuses, std::vector<int> const& outputs = {}) {
  graph const net = graph::build(describe);
  std::string text;
  for (plan_step const& step : lower(net, fuses ? rectifiers : nothing, outputs).steps)
    text += name_of(net, step) + "; ";
  return text;
}

TEST(lowering, moves_a_rectifier_after_the_max_pool) {
  auto const describe = [](builder& net) {
    net.input({1, 8, 8}) | conv2d{.filters = 2, .kernel = 3} | relu{} | max_pool{.window = 2}
        | dense{.units = 3} | leaky_relu{};
  };
  EXPECT_EQ(steps(describe, false), "conv2d_1; max_pool_1; relu_1; dense_1; leaky_relu_1; ");
  EXPECT_EQ(steps(describe, true), "conv2d_1; max_pool_1; relu_1; dense_1 + leaky_relu_1; ");
}

TEST(lowering, keeps_a_rectifier_with_other_consumers_before_the_pool) {
  auto const describe = [](builder& net) {
    tensor const x = net.input({1, 8, 8}) | conv2d{.filters = 2, .kernel = 3} | relu{};
    tensor const pooled = x | max_pool{.window = 2} | dense{.units = 3};
    concat(pooled, x | dense{.units = 3});
  };
  EXPECT_EQ(steps(describe, true).find("conv2d_1 + relu_1; max_pool_1; "), 0U) << steps(describe, true);
}

TEST(lowering, fuses_no_activation_if_the_layer_has_other_consumers) {
  auto const describe = [](builder& net) {
    tensor const x = net.input({4}) | dense{.units = 4};
    (x | relu{}) + x;
  };
  EXPECT_EQ(steps(describe, true), "dense_1; relu_1; add_1; ");
}

TEST(lowering, fuses_only_one_activation) {
  EXPECT_EQ(steps([](builder& net) { net.input({4}) | dense{.units = 4} | relu{} | leaky_relu{}; }, true),
            "dense_1 + relu_1; leaky_relu_1; ");
}

TEST(lowering, fuses_a_sum_into_the_first_capable_layer_with_both_summands_available) {
  auto const also_sums = [](kind const& a, kind const& b) {
    return rectifiers(a, b) || (a == kind_of<dense> && b == kind_of<add>);
  };
  auto const steps_of = [&](auto describe) {
    graph const net = graph::build(describe);
    lowered_graph const low = lower(net, also_sums);
    std::string text;
    for (plan_step const& step : low.steps) {
      text += name_of(net, step) + " of";
      for (int v : step.inputs) text += ' ' + std::to_string(v);
      text += " to " + std::to_string(step.output) + "; ";
    }
    return text;
  };
  EXPECT_EQ(steps_of([](builder& net) {
              tensor const x = net.input({4});
              ((x | dense{.units = 4}) + (x | dense{.units = 4})) | relu{};
            }),
            "dense_2 of 0 to 1; dense_1 + add_1 + relu_1 of 0 1 to 2; ");
  EXPECT_EQ(steps_of([](builder& net) {
              tensor const x = net.input({4});
              (x | relu{}) + (x | dense{.units = 4});
            }),
            "relu_1 of 0 to 1; dense_1 + add_1 of 0 1 to 2; ");
  EXPECT_EQ(steps_of([](builder& net) {
              tensor const x = net.input({4}), y = x | dense{.units = 4};
              (x + y) + (y | relu{});
            }),
            "dense_1 of 0 to 1; add_1 of 0 1 to 2; relu_1 of 1 to 3; add_2 of 2 3 to 4; ")
      << "another one reads the layer";
  EXPECT_EQ(steps_of([](builder& net) {
              tensor const x = net.input({4}), y = x | dense{.units = 4};
              y + y;
            }),
            "dense_1 of 0 to 1; add_1 of 1 1 to 2; ");
}

TEST(lowering, fuses_no_sum_that_broadcasts_a_summand) {
  auto const fuses_everything = [](kind const&, kind const&) { return true; };
  graph const net = graph::build([](builder& b) {
    tensor const x = b.input({4, 3, 3}) | conv2d{.filters = 4, .kernel = 1};
    x + (x | global_avg_pool{} | reshape{.extents = {4, 1, 1}} | conv2d{.filters = 4, .kernel = 1});
  });
  for (bool const inference : {false, true}) {
    lowered_graph const low = lower(net, fuses_everything, {}, inference);
    EXPECT_EQ(low.steps.back().sum, -1);
    EXPECT_EQ(name_of(net, low.steps.back()), "add_1");
  }
}

TEST(lowering, keeps_requested_inner_outputs_and_removes_unused_steps) {
  auto const describe = [](builder& net) {
    tensor const x =
        net.input({1, 8, 8}) | conv2d{.filters = 2, .kernel = 3} | relu{} | max_pool{.window = 2};
    x | dense{.units = 3} | relu{};
    x | dense{.units = 4};
  };  // nodes: input 0, conv2d 1, relu 2, max_pool 3, dense 4, relu 5, dense 6
  EXPECT_EQ(steps(describe, true, {3}), "conv2d_1; max_pool_1; relu_1; ");
  EXPECT_EQ(steps(describe, true, {2}), "conv2d_1 + relu_1; ");
  EXPECT_EQ(steps(describe, true, {1, 3}), "conv2d_1; max_pool_1; relu_1; ");
  EXPECT_EQ(steps(describe, true, {2, 3}), "conv2d_1 + relu_1; max_pool_1; ");
  EXPECT_EQ(steps(describe, true, {5}), "conv2d_1; max_pool_1; relu_1; dense_1 + relu_2; ");
  EXPECT_EQ(steps(describe, true, {5, 4}), "conv2d_1; max_pool_1; relu_1; dense_1; relu_2; ");
  graph const net = graph::build(describe);
  lowered_graph const low = lower(net, rectifiers, std::vector<int>{5, 4, 5});
  ASSERT_EQ(low.output_values.size(), 3U);
  EXPECT_EQ(low.output_values[0], low.output_values[2]);
  EXPECT_NE(low.output_values[0], low.output_values[1]);
}

bool sums_too(kind const& a, kind const& b) {
  return rectifiers(a, b) || (a == kind_of<conv2d> && b == kind_of<add>);
}

template <class F>
std::string steps_at_inference(F describe) {
  graph const net = graph::build(describe);
  std::string text;
  for (plan_step const& step : lower(net, sums_too, {}, true).steps) text += name_of(net, step) + "; ";
  return text;
}

TEST(lowering, at_inference_fuses_an_activation_before_a_pool) {
  auto const describe = [](builder& net) {
    net.input({1, 8, 8}) | conv2d{.filters = 2, .kernel = 3} | batch_norm{} | relu{} | max_pool{.window = 2};
  };
  EXPECT_EQ(steps_at_inference(describe), "conv2d_1 + batch_norm_1 + relu_1; max_pool_1; ");
  EXPECT_EQ(steps(describe, true), "conv2d_1; batch_norm_1; max_pool_1; relu_1; ");
}

TEST(lowering, at_inference_fuses_a_sum_into_the_first_of_two_convolutions) {
  auto const both = [](builder& net) {
    tensor const x = net.input({2, 4, 4});
    ((x | conv2d{.filters = 2, .kernel = 1}) + (x | conv2d{.filters = 2, .kernel = 1} | scale{})) | relu{};
  };
  EXPECT_EQ(steps_at_inference(both), "conv2d_2 + scale_1; conv2d_1 + add_1 + relu_1; ");
  graph const net = graph::build(both);
  lowered_graph const low = lower(net, sums_too, {}, true);
  EXPECT_EQ(low.steps[1].inputs, (std::vector<int>{0, low.steps[0].output}));
}

TEST(lowering, delays_a_convolution_until_the_other_summand_unless_it_has_other_consumers) {
  EXPECT_EQ(steps_at_inference([](builder& net) {
              tensor const x = net.input({2, 4, 4});
              (x | conv2d{.filters = 2, .kernel = 1}) + (x | scale{} | leaky_relu{});
            }),
            "scale_1; leaky_relu_1; conv2d_1 + add_1; ");
  EXPECT_EQ(steps_at_inference([](builder& net) {
              tensor const x = net.input({2, 4, 4}) | conv2d{.filters = 2, .kernel = 1};
              (x + (x | relu{})) | scale{};
            }),
            "conv2d_1; relu_1; add_1; scale_1; ");
}

TEST(lowering, assigns_shapes_to_values_and_inputs_to_steps) {
  graph const net = graph::build([](builder& b) {
    tensor const x = b.input({1, 8, 8}) | relu{} | max_pool{.window = 2};
    tensor const y = b.input({16});
    concat(x | dense{.units = 3} | relu{}, y);
  });
  lowered_graph const low = lower(net, rectifiers);
  ASSERT_EQ(low.batch_values.size(), 2U);
  EXPECT_EQ(low.values[static_cast<std::size_t>(low.batch_values[1])].dims, shape{16});
  ASSERT_EQ(low.steps.size(), 4U);  // pool, relu, dense + relu, concatenate
  EXPECT_EQ(low.steps[1].inputs, std::vector<int>{low.steps[0].output});
  EXPECT_EQ(low.values[static_cast<std::size_t>(low.steps[1].output)].dims, (shape{1, 4, 4}))
      << "rectifies what is pooled";
  EXPECT_EQ(low.steps[3].inputs, (std::vector<int>{low.steps[2].output, low.batch_values[1]}));
  EXPECT_EQ(low.output_values, std::vector<int>{low.steps[3].output});
  ASSERT_EQ(low.values.size(), 6U) << "two of the batch and one a step";
}

}  // namespace lowering_test
