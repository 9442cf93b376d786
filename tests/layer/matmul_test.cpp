// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/layer/matmul.hpp>
#include <string_view>
#include <vector>

#include "lone_layer.hpp"

namespace matmul_test {

using namespace cohort;
using list = std::vector<double>;

static_assert(shape_of(matmul{}, shape{2, 3}, shape{3, 4}) == shape{2, 4});
static_assert(shape_of(matmul{.transpose_a = true, .transpose_b = true}, shape{3, 2}, shape{4, 3})
              == shape{2, 4});
static_assert(shape_of(matmul{}, shape{5, 1, 2, 3}, shape{6, 3, 4}) == shape{5, 6, 2, 4});
static_assert(shape_of(matmul{.transpose_b = true}, shape{2, 3}, shape{7, 4, 3}) == shape{7, 2, 4});

TEST(matmul, multiplies_the_matrices_of_each_example) {
  lone_layer<> run(matmul{}, 2, {shape{2, 3}, shape{3, 1}},
                   {{1, 2, 3, 4, 5, 6, 1, 0, 0, 0, 1, 0}, {1, 10, 100, 7, 8, 9}});
  EXPECT_EQ(run.forward(), (list{321, 654, 7, 8}));
  EXPECT_EQ(run.differentiate({1, 2, 3, 4}), (list{1, 10, 100, 2, 20, 200, 21, 24, 27, 28, 32, 36}));
  EXPECT_EQ(run.diff_inputs[1], (list{9, 12, 15, 3, 4, 0}));
}

TEST(matmul, transposes_either_input) {
  list const a{1, 2, 3, 4, 5, 6}, b{1, 0, 2, 1, 1, 3}, diff{1, 2, 3, 4};  // a 2×3, b 3×2
  list const a_transposed{1, 4, 2, 5, 3, 6}, b_transposed{1, 2, 1, 0, 1, 3};
  lone_layer<> plain(matmul{}, 1, {shape{2, 3}, shape{3, 2}}, {a, b});
  list const product = plain.forward();
  EXPECT_EQ(product, (list{8, 11, 20, 23}));
  plain.differentiate(diff);
  EXPECT_EQ(plain.diff_inputs[0], (list{1, 4, 7, 3, 10, 15}));
  EXPECT_EQ(plain.diff_inputs[1], (list{13, 18, 17, 24, 21, 30}));
  lone_layer<> left(matmul{.transpose_a = true}, 1, {shape{3, 2}, shape{3, 2}}, {a_transposed, b});
  EXPECT_EQ(left.forward(), product);
  left.differentiate(diff);
  EXPECT_EQ(left.diff_inputs[0], (list{1, 3, 4, 10, 7, 15}));
  EXPECT_EQ(left.diff_inputs[1], plain.diff_inputs[1]);
  lone_layer<> right(matmul{.transpose_b = true}, 1, {shape{2, 3}, shape{2, 3}}, {a, b_transposed});
  EXPECT_EQ(right.forward(), product);
  right.differentiate(diff);
  EXPECT_EQ(right.diff_inputs[0], plain.diff_inputs[0]);
  EXPECT_EQ(right.diff_inputs[1], (list{13, 17, 21, 18, 24, 30}));
}

TEST(matmul, broadcasts_matrices_and_sums_their_gradients) {
  lone_layer<> run(matmul{}, 2, {shape{3, 1, 2}, shape{2, 1}},
                   {{1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 1}, {1, 10, 2, 3}});
  EXPECT_EQ(run.forward(), (list{21, 43, 65, 38, 18, 5}));
  run.differentiate({1, 0, 2, 1, 1, 1});
  EXPECT_EQ(run.diff_inputs[0], (list{1, 10, 0, 0, 2, 20, 2, 3, 2, 3, 2, 3}));
  EXPECT_EQ(run.diff_inputs[1], (list{1 + 10, 2 + 12, 7 + 9 + 1, 8 + 0 + 1}));
}

TEST(matmul, counts_two_operations_per_product) {
  shape const inputs[]{{5, 2, 3}, {5, 3, 4}};
  EXPECT_EQ(matmul{}.flops(inputs), 2.0 * 5 * 2 * 3 * 4);
}

TEST(matmul, reports_why_it_refuses_unequal_extents) {
  EXPECT_EQ(refusal_of(matmul{}, shape{2, 3}), "a matmul needs two inputs: join(matmul{}, a, b)");
  EXPECT_EQ(refusal_of(matmul{}, shape{2, 3}, shape{3}),
            "a matmul needs matrices: reshape a vector to {1, K} or {K, 1}");
  constexpr std::string_view inner =
      "the left matrices must have as many columns as the right ones have rows";
  EXPECT_EQ(refusal_of(matmul{}, shape{2, 3}, shape{2, 3}), inner);
  EXPECT_EQ(refusal_of(matmul{.transpose_a = true}, shape{2, 3}, shape{3, 2}), inner);
  EXPECT_EQ(refusal_of(matmul{}, shape{4, 2, 3}, shape{5, 3, 2}),
            "the extents before the matrices must be equal or 1, compared from the last one");
}

}  // namespace matmul_test
