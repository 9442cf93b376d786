// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/io/detail/permutation.hpp>

#include <vector>

namespace permutation_test {

using namespace cohort::detail;

TEST(permutation, transposes_a_matrix) {
  std::vector<float> const matrix{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(permute_axes(matrix, {2, 3}, {1, 0}), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(permute_axes(matrix, {2, 3}, {0, 1}), matrix);
}

TEST(permutation, permutes_three_axes) {
  std::vector<float> array(24);
  for (int i = 0; i < 24; ++i) array[static_cast<std::size_t>(i)] = static_cast<float>(i);
  std::vector<float> const made = permute_axes(array, {2, 3, 4}, {2, 0, 1});
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 3; ++b)
      for (int c = 0; c < 4; ++c)
        EXPECT_EQ(made[static_cast<std::size_t>((c * 2 + a) * 3 + b)],
                  array[static_cast<std::size_t>((a * 3 + b) * 4 + c)]);
}

TEST(permutation, accepts_arrays_without_axes_or_elements) {
  EXPECT_EQ(permute_axes(std::vector<float>{7}, {}, {}), std::vector<float>{7});
  EXPECT_TRUE(permute_axes({}, {2, 0}, {1, 0}).empty());
}

TEST(permutation, reorders_blocks) {
  EXPECT_EQ(reorder_blocks(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 0, 1}),
            (std::vector<float>{5, 6, 1, 2, 3, 4}));
}

}  // namespace permutation_test
