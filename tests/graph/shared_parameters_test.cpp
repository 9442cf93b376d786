// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/graph/graph_json.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/graph/summary.hpp>

#include <string>

namespace shared_parameters_test {

using namespace cohort;

constexpr auto siblings = network<[](builder& b) {
  tensor const left = b.input({6}, "left") | dense{.units = 4, .name = "eye"} | relu{};
  tensor const right = b.input({6}, "right") | dense{.units = 4, .settings = {.shares = "eye"}} | relu{};
  return concat(left, right) | dense{.units = 2};
}>();
static_assert(siblings.parameter_count() == 6 * 4 + 4 + 8 * 2 + 2);

std::string mistake(auto describe) {
  try {
    graph::build(describe);
  } catch (graph_error const& e) {
    return e.what();
  }
  return "";
}
bool says(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

TEST(shared_parameters, are_counted_once_and_named_in_the_summary) {
  EXPECT_TRUE(says(summary(siblings), "parameters of eye")) << summary(siblings);
  EXPECT_TRUE(says(summary(siblings), "46")) << summary(siblings);
}

TEST(shared_parameters, belong_to_the_named_layer_in_any_execution_order) {
  graph const net = graph::build([](builder& b) {
    tensor const x = b.input({4});
    tensor const second = x | dense{.units = 4, .name = "owner"};
    tensor const first = x | dense{.units = 4, .settings = {.shares = "owner"}, .name = "guest"};
    return concat(first, second);
  });
  int const owner = net.view().find("owner"), guest = net.view().find("guest");
  EXPECT_LT(guest, owner);
  EXPECT_EQ(net.view().owner(owner), owner);
  EXPECT_EQ(net.view().owner(guest), owner);
  EXPECT_EQ(from_json(to_json(net)).hash(), net.hash());
}

TEST(shared_parameters, round_trip_through_json) {
  graph const net = siblings;
  std::string const text = to_json(net);
  EXPECT_TRUE(says(text, R"("settings": {"shares": "eye"})")) << text;
  graph const again = from_json(text);
  EXPECT_EQ(again.hash(), net.hash());
  EXPECT_EQ(again.parameter_count(), net.parameter_count());
  graph const apart = graph::build([](builder& b) {
    tensor const left = b.input({6}, "left") | dense{.units = 4, .name = "eye"} | relu{};
    tensor const right = b.input({6}, "right") | dense{.units = 4} | relu{};
    return concat(left, right) | dense{.units = 2};
  });
  EXPECT_NE(apart.hash(), net.hash());
}

TEST(shared_parameters, are_resolved_through_a_chain_of_names) {
  graph const net = graph::build([](builder& b) {
    return b.input({3}) | dense{.units = 3, .settings = {.weights = init::ones{}}, .name = "a"}
           | dense{.units = 3, .settings = {.shares = "a"}, .name = "b"}
           | dense{.units = 3, .settings = {.shares = "b"}};
  });
  EXPECT_EQ(net.view().owner(3), net.view().find("a"));
  EXPECT_EQ(net.view().parameters(3).specs[0].initial, initialiser(init::ones{}));
}

TEST(shared_parameters, are_refused_if_invalid) {
  EXPECT_TRUE(says(mistake([](builder& b) {
                     return b.input({3}) | dense{.units = 3}
                            | dense{.units = 3, .settings = {.shares = "dense_1"}};
                   }),
                   "no earlier layer has the name"));
  EXPECT_TRUE(says(mistake([](builder& b) {
                     return b.input({3}) | dense{.units = 3, .name = "a"}
                            | dense{.units = 3, .settings = {.weights = init::ones{}, .shares = "a"}};
                   }),
                   "must not set initialisers"));
  EXPECT_TRUE(says(mistake([](builder& b) {
                     return b.input({3}) | batch_norm{.name = "a"} | batch_norm{.settings = {.shares = "a"}};
                   }),
                   "a layer with running statistics cannot share parameters"));
  EXPECT_TRUE(says(mistake([](builder& b) {
                     return b.input({3}) | relu{.name = "a"} | dense{.units = 3, .settings = {.shares = "a"}};
                   }),
                   "parameters of the same shapes"));
}

}  // namespace shared_parameters_test
