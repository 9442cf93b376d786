// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/error/detail/nearest_name.hpp>

#include <array>
#include <string>
#include <string_view>

namespace nearest_name_test {

using cohort::detail::names_and_nearest;
using cohort::detail::nearest_name;

constexpr std::array<std::string_view, 4> names{"epochs", "batch", "every", "l2"};

TEST(nearest_name, has_the_smallest_edit_distance) {
  EXPECT_EQ(nearest_name("epoch", names), "epochs");
  EXPECT_EQ(nearest_name("bacth", names), "batch");
  EXPECT_EQ(nearest_name("batches", names), "batch");
  EXPECT_EQ(nearest_name("bach", names), "batch");
  EXPECT_EQ(nearest_name("ll2", names), "l2");
}

TEST(nearest_name, is_empty_if_no_name_is_similar) {
  EXPECT_EQ(nearest_name("strategy", names), "");
  EXPECT_EQ(nearest_name("x", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name(std::string(1'000'000, 'e'), names), "");
}

TEST(nearest_name, is_appended_to_the_list_of_names) {
  EXPECT_EQ(names_and_nearest("epoch", names), "epochs, batch, every, l2; the nearest name is epochs");
  EXPECT_EQ(names_and_nearest("strategy", names), "epochs, batch, every, l2");
}

}  // namespace nearest_name_test
