// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/graph/network.hpp>
#include <cohort/graph/summary.hpp>
#include <string>

namespace summary_test {

using namespace cohort;

TEST(summary, prints_a_chain_layer_by_layer_with_its_totals) {
  graph const lenet = graph::build([](builder& net) {
    return net.input({1, 28, 28}) | conv2d{.filters = 20, .kernel = 5} | relu{} | max_pool{.window = 2}
           | dense{.units = 10, .name = "classes"} | softmax_cross_entropy{};
  });
  EXPECT_EQ(summary(lenet),
            "name                     layer                         output    parameters  MFLOP\n"
            "input_1                  input                         1x28x28\n"
            "conv2d_1                 conv2d: filters 20, kernel 5  20x24x24         520  0.576\n"
            "relu_1                   relu                          20x24x24              0.012\n"
            "max_pool_1               max_pool: window 2            20x12x12              0.012\n"
            "classes                  dense: units 10               10             28810  0.058\n"
            "softmax_cross_entropy_1  softmax_cross_entropy         10                    0.000\n"
            "total                    6 layers                                     29330  0.657\n");
}

TEST(summary, prints_the_inputs_of_layers_that_do_not_follow_their_input) {
  graph const net = graph::build([](builder& b) {
    tensor const x = b.input({2, 6, 6}, "x");
    tensor const left = x | conv2d{.filters = 2, .kernel = {3, 1}, .padding = padding::same, .bias = false};
    tensor const right = x | leaky_relu{.slope = 0.1};
    return left + right;
  });
  EXPECT_EQ(summary(net), std::string(R"(
name          layer                                                 reads                   output  parameters  MFLOP
x             input                                                                         2x6x6
conv2d_1      conv2d: filters 2, kernel 3x1, padding same, no bias  x                       2x6x6           12  0.001
leaky_relu_1  leaky_relu: slope 0.1                                 x                       2x6x6               0.000
add_1         add                                                   conv2d_1, leaky_relu_1  2x6x6               0.000
total         4 layers                                                                                      12  0.001
)")
                              .substr(1));
}

TEST(summary, prints_padding_strides_and_initialisers_other_than_the_defaults) {
  auto const line = [](auto const& layer) {
    graph const net = graph::build([&](builder& b) { return b.input({1, 9, 9}) | layer; });
    std::string const text = detail::layer_text(net, 1);
    return text.substr(text.find(": ") + 2);
  };
  EXPECT_EQ(line(max_pool{.window = {3, 2}, .stride = 2, .padding = 1}), "window 3x2, stride 2, padding 1");
  EXPECT_EQ(line(max_pool{.window = 3, .padding = padding(0, 1, 2, 0)}), "window 3, padding 0/1/2/0");
  EXPECT_EQ(line(dense{.units = 1, .settings = {.weights = init::relu{}, .bias = init::ones{}}}),
            "units 1, weights from relu, bias from ones");
}

}  // namespace summary_test
