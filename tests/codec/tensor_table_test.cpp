// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/codec/tensor_table.hpp>
#include <cohort/error/exceptions.hpp>

#include "../data/refused.hpp"

namespace tensor_table_test {

using cohort::tensor_table;

TEST(tensor_table, stores_tensors_contiguously) {
  tensor_table const table{
      {"conv.weights", 500}, {"conv.bias", 20}, {"dense.weights", std::uint64_t{1} << 33}};
  EXPECT_EQ(table.size(), 3U);
  EXPECT_EQ(table.elements(), 520 + (std::uint64_t{1} << 33));
  EXPECT_EQ(table.ends()[0], 500U);
  EXPECT_EQ(table.ends()[1], 520U);
  EXPECT_EQ(table.name(1), "conv.bias");
  EXPECT_EQ(tensor_table().elements(), 0U);
}

TEST(tensor_table, has_a_hash_of_names_sizes_and_order) {
  std::uint64_t const hash = tensor_table{{"a", 1}, {"b", 2}}.hash();
  EXPECT_EQ(hash, (tensor_table{{"a", 1}, {"b", 2}}.hash()));
  for (tensor_table const& other : {tensor_table{{"b", 2}, {"a", 1}}, tensor_table{{"a", 2}, {"b", 1}},
                                    tensor_table{{"a", 1}, {"b", 2}, {"c", 1}},
                                    tensor_table{{"a", 1}, {"c", 2}}, tensor_table{{"a", 3}}, tensor_table{}})
    EXPECT_NE(other.hash(), hash);
}

TEST(tensor_table, refuses_empty_tensors_and_too_many_elements) {
  expect_parts(refused<cohort::setting_error>([] { tensor_table{{"a", 4}, {"b", 0}}; }), {"b", "got 0"});
  expect_parts(refused<cohort::setting_error>([] {
                 tensor_table{{"a", std::uint64_t{1} << 44}, {"b", 1}};
               }),
               {"b", "got 1"});
}

}  // namespace tensor_table_test
