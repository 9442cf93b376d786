// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/error/exceptions.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/graph/named_layers.hpp>
#include <cohort/layer/layers.hpp>
#include <string>
#include <vector>

namespace named_layers_test {

using namespace cohort;

TEST(named_layers, are_found_by_given_and_generated_names) {
  graph const net = graph::build([](builder& b) {
    return b.input({4}) | dense{.units = 3, .name = "head"} | relu{} | dense{.units = 2};
  });
  graph_view const view = net;
  std::vector<std::string> const names{"dense_2", "head"};
  std::vector<int> const ids = named_layers(view, names);
  ASSERT_EQ(ids.size(), 2U);
  EXPECT_EQ(view.name(ids[0]), "dense_2");
  EXPECT_EQ(view.name(ids[1]), "head");
  EXPECT_GT(ids[0], ids[1]);
}

TEST(named_layers, refuse_a_name_that_no_layer_has_and_list_the_names) {
  graph const net =
      graph::build([](builder& b) { return b.input({4}) | dense{.units = 3, .name = "head"} | relu{}; });
  std::vector<std::string> const names{"tail"};
  try {
    named_layers(net, names);
    FAIL() << "no setting_error";
  } catch (setting_error const& refused) {
    std::string const text = refused.what();
    EXPECT_NE(text.find("head"), text.npos) << text;
    EXPECT_NE(text.find("relu_1"), text.npos) << text;
    EXPECT_NE(text.find("tail"), text.npos) << text;
  }
}

}  // namespace named_layers_test
