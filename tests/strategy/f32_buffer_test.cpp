// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/codec/residual_simd.hpp>
#include <cohort/strategy/detail/f32_buffer.hpp>
#include <vector>

namespace f32_buffer_test {

using namespace cohort;
using numbers = std::vector<float>;

numbers of(detail::f32_buffer const& array) {
  numbers all(array.size());
  array.copy_to(all);
  return all;
}

TEST(f32_buffer, applies_operations_to_all_elements) {
  detail::f32_buffer one(5, nullptr), other(5, nullptr);
  EXPECT_EQ(of(one), numbers(5));
  one.assign(numbers{1, -2, 3, -4, 5});
  other.copy(one);
  other.scale(2);
  one.add(other);
  EXPECT_EQ(of(one), (numbers{3, -6, 9, -12, 15}));
  EXPECT_EQ(one.square_sum(), 9 * 55);
  one.on_processor([](std::span<float> x) { x[1] = 7; });
  EXPECT_EQ(of(one), (numbers{3, 7, 9, -12, 15}));
  EXPECT_TRUE(one.is_within_range());
  one.span()[4] = 2 * largest_gradient;
  EXPECT_FALSE(one.is_within_range());
  one.clear();
  EXPECT_EQ(of(one), numbers(5));
}

}  // namespace f32_buffer_test
