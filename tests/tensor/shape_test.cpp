// SPDX-License-Identifier: Apache-2.0
// covers: tensor/element
#include <gtest/gtest.h>
#include <cohort/tensor/element.hpp>
#include <cohort/tensor/shape.hpp>

namespace shape_test {

using namespace cohort;

static_assert(shape{20, 24, 24}.elements() == 11'520);
static_assert(shape{}.elements() == 1, "a scalar");
static_assert(shape{3, 0, 4}.elements() == 0);
static_assert(shape{65'536, 65'536}.elements() == std::int64_t{1} << 32, "more than an int holds");
static_assert(shape{1, 28, 28}.batched(32) == shape{32, 1, 28, 28});
static_assert(shape{32, 1, 28, 28}.example() == shape{1, 28, 28});
static_assert(shape{}.batched(7) == shape{7});
static_assert(!(shape{4} == shape{4, 1}));
static_assert(element_of<float> == element_type::f32 && element_of<std::int32_t> == element_type::i32);

TEST(shape, is_printed_as_extents_joined_by_x) {
  EXPECT_EQ(to_string(shape{20, 24, 24}), "20x24x24");
  EXPECT_EQ(to_string(shape{7}), "7");
  EXPECT_EQ(to_string(shape{}), "scalar");
}

TEST(element, has_a_size_and_a_name) {
  EXPECT_EQ(bytes_of(element_type::f32), sizeof(float));
  EXPECT_EQ(bytes_of(element_type::f64), sizeof(double));
  EXPECT_EQ(bytes_of(element_type::bf16), 2U);
  EXPECT_EQ(bytes_of(element_type::u8), 1U);
  EXPECT_EQ(bytes_of(element_type::u64), 8U);
  EXPECT_EQ(name_of(element_type::bf16), "bf16");
  EXPECT_EQ(name_of(element_type::i32), "i32");
}

}  // namespace shape_test
