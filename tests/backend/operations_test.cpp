// SPDX-License-Identifier: Apache-2.0
#include "operations.hpp"

#include <gtest/gtest.h>

#include <cohort/graph/graph_json.hpp>
#include <cohort/layer/built_in_kinds.hpp>
#include <set>
#include <string_view>

namespace operations_test {

using namespace cohort;

TEST(operations, include_every_built_in_layer_kind) {
  std::set<std::string_view> seen;
  operations::each_row([&](operations::row const& r) {
    graph const net = operations::network_of(r, 1, true);
    for (int id = 0; id < net.view().size(); ++id) seen.insert(net.view().kind(id).name);
  });
  for (kind const* k : built_in_kinds()) EXPECT_TRUE(seen.contains(k->name)) << k->name;
}

TEST(operations, round_trip_through_json) {
  operations::each_row([](operations::row const& r) {
    graph const net = operations::network_of(r, 1, true);
    std::string const text = to_json(net);
    graph const again = from_json<operations::bent>(text);
    EXPECT_EQ(again.hash(), net.hash()) << r.name;
    EXPECT_EQ(to_json(again), text) << r.name;
  });
}

}  // namespace operations_test
