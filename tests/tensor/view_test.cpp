// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/tensor/view.hpp>

#include <type_traits>
#include <vector>

namespace view_test {

using namespace cohort;

static_assert(std::is_convertible_v<mutable_tensor_view, tensor_view>);
static_assert(!std::is_convertible_v<tensor_view, mutable_tensor_view>);
static_assert(!std::is_constructible_v<mutable_tensor_view, float const*, shape>, "constness is kept");

TEST(view, slices_rows_along_the_first_axis) {
  std::vector<float> values{0, 1, 2, 3, 4, 5, 6, 7};
  tensor_view const all(values.data(), shape{4, 2});
  tensor_view const middle = all.rows(1, 2);
  EXPECT_EQ(middle.dims, (shape{2, 2}));
  EXPECT_EQ(middle.as<float>()[0], 2);
  EXPECT_EQ(middle.as<float>()[3], 5);
  EXPECT_EQ(middle.bytes(), 16U);
  EXPECT_EQ(all.rows(4, 0).bytes(), 0U);
}

TEST(view, infers_the_element_type_and_writes_through) {
  std::vector<std::int32_t> labels(3);
  mutable_tensor_view const view(labels.data(), shape{3});
  EXPECT_EQ(view.type, element_type::i32);
  view.as<std::int32_t>()[1] = 7;
  EXPECT_EQ(labels[1], 7);
  EXPECT_EQ(tensor_view(view).as<std::int32_t>()[1], 7);
}

}  // namespace view_test
