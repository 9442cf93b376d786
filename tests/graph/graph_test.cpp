// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/graph/network.hpp>

#include <set>
#include <string>

#include "../data/refused.hpp"

namespace graph_test {

using namespace cohort;

constexpr auto describe = [](builder& net) {
  tensor const x =
      net.input({2, 8, 8}) | conv2d{.filters = 3, .kernel = {3, 2}, .padding = padding(1, 0, 1, 1)} | relu{};
  tensor const y = x | max_pool{.window = 2} | dense{.units = 5, .name = "five"};
  tensor const z =
      x | dense{.units = 5, .bias = false, .settings = {.weights = init::normal{.deviation = 0.5}}};
  return (y + z) | softmax_cross_entropy{};
};

TEST(graph, is_the_same_at_run_time_and_at_compile_time) {
  constexpr auto compiled = network<describe>();
  graph const built = graph::build(describe);
  EXPECT_EQ(built.hash(), compiled.hash());
  EXPECT_EQ(built.parameter_count(), compiled.parameter_count());
  EXPECT_EQ(graph(built.view()).hash(), compiled.hash());
}

TEST(graph, has_a_stable_hash_across_versions) {
  EXPECT_EQ(graph::build([](builder& net) {
              return net.input({4}) | dense{.units = 3, .name = "a"} | softmax_cross_entropy{};
            }).hash(),
            0x217523739e3aa239U);
}

TEST(graph, has_a_different_hash_if_layers_differ_in_anything_but_their_line) {
  std::set<std::uint64_t> seen;
  int made = 0;
  auto const add_graph = [&](auto layer) {
    seen.insert(graph::build([&](builder& net) { return net.input({2, 8, 8}) | layer; }).hash());
    ++made;
  };
  conv2d const plain{.filters = 3, .kernel = 3};
  add_graph(plain);
  add_graph(conv2d{.filters = 4, .kernel = 3});
  add_graph(conv2d{.filters = 3, .kernel = {3, 2}});
  add_graph(conv2d{.filters = 3, .kernel = {2, 3}});
  add_graph(conv2d{.filters = 3, .kernel = 3, .stride = 2});
  add_graph(conv2d{.filters = 3, .kernel = 3, .padding = padding::same});
  add_graph(conv2d{.filters = 3, .kernel = 3, .padding = padding::strict});
  add_graph(conv2d{.filters = 3, .kernel = 3, .padding = 1});
  add_graph(conv2d{.filters = 3, .kernel = 3, .padding = padding(1, 1, 1, 0)});
  add_graph(conv2d{.filters = 3, .kernel = 3, .bias = false});
  add_graph(conv2d{.filters = 3, .kernel = 3, .settings = {.weights = init::relu{}}});
  add_graph(conv2d{.filters = 3, .kernel = 3, .settings = {.weights = init::xavier{}}});
  add_graph(conv2d{.filters = 3, .kernel = 3, .settings = {.bias = init::relu{}}});
  add_graph(conv2d{.filters = 3, .kernel = 3, .settings = {.bias = init::constant{.value = 1}}});
  add_graph(conv2d{.filters = 3, .kernel = 3, .settings = {.bias = init::constant{.value = 2}}});
  add_graph(conv2d{.filters = 3, .kernel = 3, .name = "named"});
  add_graph(relu{});
  add_graph(leaky_relu{});
  add_graph(leaky_relu{.slope = 0.02});
  add_graph([](tensor x) { return x + x; });
  add_graph([](tensor x) { return concat(x, x); });
  add_graph([](tensor x) { return join(add{}, x, x, x); });
  add_graph([](tensor x) { return (x | relu{}) + x; });
  add_graph([](tensor x) { return x + (x | relu{}); });
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(made));

  add_graph(conv2d{.filters = 3, .kernel = 3, .at = {"elsewhere.cpp", 7}});
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(made - 1)) << "the line does not matter";
}

TEST(graph, throws_an_error_with_line_layer_and_shapes_of_a_mistake) {
  int const here = __LINE__;
  auto const bad = [](builder& net) { net.input({1, 4, 4}) | conv2d{.filters = 20, .kernel = 5}; };
  expect_parts(
      refused<graph_error>([&] { graph::build(bad); }),
      {"the network is not well formed", "graph_test.cpp", (":" + std::to_string(here + 1) + ":").c_str(),
       "conv2d: the kernel is larger than its input (input 1x4x4, kernel 5x5)"});
  EXPECT_EQ(refused<graph_error>([] { graph::build([](builder&) {}); }),
            "the network has no layers: expected at least 1 layer, got none");
}

}  // namespace graph_test
