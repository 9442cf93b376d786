// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/data/batch_view.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace batch_view_test {

using namespace cohort;

TEST(batch_view, wraps_tensors_of_the_caller_and_selects_rows) {
  std::vector<float> const pixels{0, 1, 2, 3, 4, 5}, weights{1, 0.5F, 2};
  std::vector<std::int32_t> const labels{2, 0, 1};
  batch_view const all(tensor_view(pixels.data(), {3, 2}), tensor_view(labels.data(), {3}), weights);
  EXPECT_EQ(all.count, 3);
  EXPECT_EQ(all.global_count, 0);
  EXPECT_EQ(all.weight(), 3.5);
  batch_view const part = all.rows(1, 2);
  EXPECT_EQ(part.count, 2);
  EXPECT_EQ(part.inputs[0].dims, (shape{2, 2}));
  EXPECT_EQ(part.inputs[0].as<float>()[0], 2);
  EXPECT_EQ(part.targets[0].as<std::int32_t>()[1], 1);
  EXPECT_EQ(part.weight(), 2.5);
  EXPECT_TRUE(part.indices.empty());
}

TEST(batch_view, refers_to_a_batch_of_a_loader) {
  batch from;
  from.inputs.push_back({.name = "x", .example = {2}});
  from.inputs[0].reserve(2);
  from.count = 2;
  from.global_count = 5;
  from.ranks = 3;
  from.indices = {7, 3};
  batch_view view = from;
  EXPECT_EQ(view.count, 2);
  EXPECT_EQ(view.global_count, 5);
  EXPECT_EQ(view.ranks, 3);
  EXPECT_TRUE(view.even);
  EXPECT_EQ(view.weight(), 2);
  EXPECT_EQ(view.inputs[0].data, from.inputs[0].memory.data());
  EXPECT_EQ(view.indices[1], 3);
  EXPECT_EQ(view.rows(1, 1).indices[0], 3);
  EXPECT_EQ(view.rows(1, 1).global_count, 0);
  EXPECT_FALSE(view.rows(1, 1).even);
  view.refer_to({});
  EXPECT_EQ(view.count, 0);
  EXPECT_TRUE(view.inputs.empty());
}

TEST(batch_view, refuses_rows_out_of_range) {
  std::vector<float> const numbers(4);
  batch_view const all(std::vector{tensor_view(numbers.data(), {4, 1})}, std::vector<tensor_view>{});
  for (auto [first, count] : {std::pair(3, 2), std::pair(-1, 1), std::pair(0, -1)})
    EXPECT_THROW(all.rows(first, count), setting_error);
  EXPECT_EQ(all.rows(4, 0).count, 0);
}

}  // namespace batch_view_test
