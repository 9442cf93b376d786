// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/loader.hpp>
#include <cohort/xtensor.hpp>
#include <type_traits>

#include "../../data/refused.hpp"

namespace xtensor_test {

TEST(xtensor, is_used_without_a_copy) {
  xt::xarray<float> array = xt::xarray<float>::from_shape({2, 3, 1});
  array.fill(1);
  array(1, 2, 0) = 7;
  cohort::mutable_tensor_view const view = cohort::view_of(array);
  EXPECT_EQ(view.dims, cohort::shape(2, 3, 1));
  EXPECT_EQ(view.as<float>()[5], 7);
  view.as<float>()[0] = 5;
  EXPECT_EQ(array(0, 0, 0), 5);
  xt::xtensor<double, 1> const line = {1, 2, 3};
  static_assert(std::is_same_v<decltype(cohort::view_of(line)), cohort::tensor_view>);
  EXPECT_EQ(cohort::view_of(line).type, cohort::element_type::f64);
  EXPECT_EQ(cohort::view_of(line).as<double>()[2], 3);
}

TEST(xtensor, adapts_a_view_without_a_copy) {
  std::vector<float> memory = {1, 2, 3, 4, 5, 6};
  auto array = cohort::adapt<float>(cohort::mutable_tensor_view(memory.data(), {2, 3}));
  EXPECT_EQ(array(1, 0), 4);
  array(0, 1) = 9;
  EXPECT_EQ(memory[1], 9);
  auto const constant = cohort::adapt<float>(cohort::tensor_view(memory.data(), {3, 2}));
  EXPECT_EQ(constant(0, 1), 9);
  expect_parts(refused<cohort::shape_error>([&] {
                 cohort::adapt<double>(cohort::tensor_view(memory.data(), {3, 2}));
               }),
               {"f64", "f32"});
}

TEST(xtensor, works_as_a_data_set_and_receives_batches) {
  xt::xtensor<std::uint8_t, 4> images = xt::xtensor<std::uint8_t, 4>::from_shape({6, 1, 2, 2});
  for (std::size_t i = 0; i < images.size(); ++i) images.data()[i] = static_cast<std::uint8_t>(i);
  xt::xtensor<int, 1> const labels = {0, 1, 2, 0, 1, 2};
  cohort::loader loader(cohort::arrays_of(images, labels, 3, 0.5), {.batch = 4, .shuffle = false});
  auto const batch = cohort::adapt<float>(loader.next()->input());
  EXPECT_EQ(batch.dimension(), 4u);
  EXPECT_EQ(batch(2, 0, 1, 1), 11 / 2.0F);
}

TEST(xtensor, refuses_layouts_that_are_not_row_major) {
  static_assert(!cohort::detail::xtensor_container<xt::xarray<float, xt::layout_type::column_major>>);
  static_assert(!cohort::detail::xtensor_container<std::vector<float>>);
  xt::xarray<float, xt::layout_type::dynamic> turned(std::vector<std::size_t>{2, 3},
                                                     xt::layout_type::column_major);
  expect_parts(refused<cohort::shape_error>([&] { cohort::view_of(turned); }),
               {"without a copy", "row-major", "axis 1"});
  xt::xarray<float> deep = xt::xarray<float>::from_shape({1, 1, 1, 1, 1, 1, 1});
  expect_parts(refused<cohort::shape_error>([&] { cohort::view_of(deep); }),
               {"too many axes", "at most 6 axes", "7"});
}

}  // namespace xtensor_test
