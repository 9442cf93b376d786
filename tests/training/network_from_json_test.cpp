// SPDX-License-Identifier: Apache-2.0
// label: slow
// Separate from the other trainer tests, because a program that reads networks compiles the kernels of all
// kinds.
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/graph/graph_json.hpp>
#include <cohort/training/trainer.hpp>
#include <string>
#include "bright_thirds.hpp"

namespace network_from_json_test {

using namespace cohort;
using cohort_test::bright_thirds;
using cohort_test::small;

std::string trained(graph net) {
  bright_thirds const examples(103);
  training made = trainer<reference<float>>(
      std::move(net), {.optimizer = {nesterov{.learning_rate = 0.05}}, .seed = 7, .workers = 2});
  EXPECT_EQ(made.fit(examples.data(), {.batch = 10, .epochs = 1}).steps, 11);
  return made.checksum();
}

TEST(network_from_json, trains_bitwise_equally) {
  graph const again = from_json(to_json(small));
  EXPECT_EQ(again.hash(), small.hash());
  EXPECT_EQ(trained(again), trained(small));
}

}  // namespace network_from_json_test
