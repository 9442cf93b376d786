// SPDX-License-Identifier: Apache-2.0
// covers: graph/node
#include <gtest/gtest.h>
#include <cohort/graph/network.hpp>

#include <string>

namespace network_test {

using namespace cohort;

constexpr auto lenet = network<[](builder& net) {
  return net.input({1, 28, 28})                                                              // 1x28x28
         | conv2d{.filters = 20, .kernel = 5} | relu{} | max_pool{.window = 2}               // 20x12x12
         | conv2d{.filters = 50, .kernel = 5, .stride = 2} | relu{} | max_pool{.window = 2}  // 50x2x2
         | dense{.units = 200} | relu{}                                                      // 200
         | dense{.units = 10} | softmax_cross_entropy{};                                     // 10
}>();
static_assert(lenet.parameter_count() == 67'780);

constexpr auto mlp = network<[](builder& net) {
  return net.input({784}) | dense{.units = 500} | relu{} | dense{.units = 100} | relu{} | dense{.units = 10}
         | softmax_cross_entropy{};
}>();
static_assert(mlp.parameter_count() == 784 * 500 + 500 + 500 * 100 + 100 + 100 * 10 + 10);
static_assert(mlp.parameter_count() == 443'610);

constexpr auto convolution(int filters, int kernel) {
  return [=](tensor x) {
    return x | conv2d{.filters = filters, .kernel = kernel, .padding = padding::same} | relu{};
  };
}
constexpr auto cifar10 = network<[](builder& net) {
  return net.input({3, 32, 32}) | convolution(64, 4) | convolution(64, 4) | max_pool{.window = 2}
         | convolution(96, 4) | convolution(96, 4) | convolution(128, 3) | convolution(128, 3)
         | convolution(256, 2) | convolution(256, 2) | max_pool{.window = 2} | dense{.units = 1024} | relu{}
         | dense{.units = 1024} | relu{} | dense{.units = 10} | softmax_cross_entropy{};
}>();
static_assert(cifar10.parameter_count() == 18'804'810);

constexpr std::int64_t parameters_of(graph_view net, std::string_view layer) {
  std::int64_t count = 0;
  for (parameter_spec const& spec : net.parameters(net.find(layer))) count += spec.dims.elements();
  return count;
}
constexpr auto named_cifar10_parts = network<[](builder& net) {
  return net.input({3, 32, 32})
         | conv2d{.filters = 64, .kernel = 4, .padding = padding::same, .name = "first"}
         | conv2d{.filters = 64, .kernel = 4, .padding = padding::same, .name = "second"}
         | max_pool{.window = 2}
         | conv2d{.filters = 96, .kernel = 4, .padding = padding::same, .name = "third"};
}>();
static_assert(parameters_of(named_cifar10_parts, "first") == 3'136
              && parameters_of(named_cifar10_parts, "second") == 65'600
              && parameters_of(named_cifar10_parts, "third") == 98'400);

// The structure of ResNet-50, with rectifiers and additions.
constexpr auto bottleneck(int width, int stride, bool projects) {
  return [=](tensor x) {
    tensor const y = x | conv2d{.filters = width, .kernel = 1, .bias = false} | relu{}
                     | conv2d{.filters = width, .kernel = 3, .stride = stride, .padding = 1, .bias = false}
                     | relu{} | conv2d{.filters = 4 * width, .kernel = 1, .bias = false};
    tensor const shortcut =
        projects ? x | conv2d{.filters = 4 * width, .kernel = 1, .stride = stride, .bias = false} : x;
    return (y + shortcut) | relu{};
  };
}
constexpr auto deep = network<[](builder& net) {
  tensor x = net.input({3, 224, 224})
             | conv2d{.filters = 64, .kernel = 7, .stride = 2, .padding = 3, .bias = false, .name = "stem"}
             | relu{} | max_pool{.window = 3, .stride = 2, .padding = 1};
  int const blocks[]{3, 4, 14, 3};
  for (int stage = 0; stage < 4; ++stage)
    for (int i = 0; i < blocks[stage]; ++i)
      x = x | bottleneck(64 << stage, stage > 0 && i == 0 ? 2 : 1, i == 0);
  return x | max_pool{.window = 7} | dense{.units = 1000, .name = "classes"} | softmax_cross_entropy{};
}>();
static_assert(deep.view().size() >= 176);
static_assert(deep.view()[deep.view().find("classes")].output == shape{1000});

TEST(network, stores_the_output_shape_of_every_layer) {
  std::string shapes;
  graph_view const net = lenet;
  for (int id = 0; id < net.size(); ++id) shapes += to_string(net[id].output) + ' ';
  EXPECT_EQ(shapes, "1x28x28 20x24x24 20x24x24 20x12x12 50x4x4 50x4x4 50x2x2 200 200 10 10 ");
}

TEST(network, converts_to_a_run_time_graph) {
  graph const copy = lenet;
  EXPECT_EQ(copy.parameter_count(), 67'780);
  EXPECT_EQ(copy.hash(), lenet.hash());
  EXPECT_EQ(copy.view().name(4), "conv2d_2");
}

TEST(network, stores_the_line_of_each_layer) {
  graph_view const net = lenet;
  EXPECT_EQ(net[10].at.line - net[1].at.line, 3);
  EXPECT_TRUE(std::string_view(net[1].at.file).ends_with("network_test.cpp"));
}

}  // namespace network_test
