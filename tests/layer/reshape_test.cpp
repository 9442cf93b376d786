// SPDX-License-Identifier: Apache-2.0
// covers: tensor/axis_order layer/embedding layer/input layer/upsampling layer/zero_padding
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "../data/refused.hpp"
#include "../plan/trial.hpp"
#include "lone_layer.hpp"

namespace reshape_test {

using namespace cohort;
using list = std::vector<double>;

static_assert(shape_of(zero_padding{.sides = {1, 2, 3, 4}}, shape{2, 5, 6}) == shape{2, 8, 13});
static_assert(shape_of(zero_padding{.sides = 1}, shape{2, 5, 6}) == shape{2, 7, 8});
static_assert(shape_of(cropping{.sides = {1, 2, 3, 2}}, shape{2, 5, 6}) == shape{2, 2, 1});
static_assert(shape_of(upsampling{.factor = {2, 3}}, shape{2, 5, 6}) == shape{2, 10, 18});
static_assert(shape_of(reshape{.extents = {3, 20}}, shape{2, 5, 6}) == shape{3, 20});
static_assert(shape_of(permute{.order = {2, 0, 1}}, shape{2, 5, 6}) == shape{6, 2, 5});
static_assert(shape_of(permute{.order = {1, 0}, .view = {5, 12}}, shape{2, 5, 6}) == shape{12, 5});
static_assert(shape_of(permute{.order = {1, 0, 2}, .view = {2, 3, 4}, .extents = {6, 4}}, shape{6, 4})
              == shape{6, 4});
static_assert(shape_of(bilinear_upsampling{.factor = {2, 3}}, shape{2, 5, 6}) == shape{2, 10, 18});
static_assert(shape_of(flatten{}, shape{2, 5, 6}) == shape{60} && shape_of(flatten{}, shape{7}) == shape{7});
static_assert(shape_of(embedding{.vocabulary = 9, .width = 4}, shape{7}) == shape{7, 4});
static_assert(shape_of(embedding{.vocabulary = 9, .width = 4}, shape{7, 2}) == shape{4, 7, 2});

TEST(zero_padding, adds_zeros_and_crops_the_gradient) {
  lone_layer<> run(zero_padding{.sides = {1, 0, 0, 2}}, 1, {shape{2, 1, 2}}, {{1, 2, 3, 4}});
  EXPECT_EQ(run.forward(), (list{0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 3, 4, 0, 0}));
  EXPECT_EQ(run.differentiate({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}), (list{5, 6, 13, 14}));
}

TEST(cropping, removes_the_sides_and_pads_the_gradient_with_zeros) {
  lone_layer<> run(cropping{.sides = {1, 0, 0, 2}}, 1, {shape{2, 2, 4}},
                   {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}});
  EXPECT_EQ(run.forward(), (list{5, 6, 13, 14}));
  EXPECT_EQ(run.differentiate({1, 2, 3, 4}), (list{0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 3, 4, 0, 0}));
}

TEST(upsampling, repeats_elements_and_sums_their_gradients) {
  lone_layer<> run(upsampling{.factor = {2, 3}}, 1, {shape{1, 2, 2}}, {{1, 2, 3, 4}});
  EXPECT_EQ(run.forward(), (list{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4}));
  list counted;
  for (int i = 0; i < 24; ++i) counted.push_back(i);
  EXPECT_EQ(run.differentiate(counted), (list{3. + 21, 12. + 30, 39. + 57, 48. + 66}));
}

TEST(reshape, keeps_elements_in_their_order) {
  lone_layer<> run(reshape{.extents = {3, 2}}, 1, {shape{2, 3}}, {{1, 2, 3, 4, 5, 6}});
  EXPECT_EQ(run.forward(), (list{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(run.differentiate({6, 5, 4, 3, 2, 1}), (list{6, 5, 4, 3, 2, 1}));
}

TEST(permute, moves_elements_and_moves_their_gradients_back) {
  lone_layer<> run(permute{.order = {1, 0}}, 2, {shape{2, 3}}, {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}});
  EXPECT_EQ(run.forward(), (list{1, 4, 2, 5, 3, 6, 7, 10, 8, 11, 9, 12}));
  EXPECT_EQ(run.differentiate({1, 4, 2, 5, 3, 6, 7, 10, 8, 11, 9, 12}),
            (list{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
}

TEST(permute, of_one_element_copies_it) {
  lone_layer<> run(permute{.order = {2, 1, 0}}, 2, {shape{1, 1, 1}}, {{3, 4}});
  EXPECT_EQ(run.forward(), (list{3, 4}));
  EXPECT_EQ(run.differentiate({5, 6}), (list{5, 6}));
}

TEST(permute, reads_the_axes_of_the_view_in_any_order_of_six_axes) {
  shape const view{2, 3, 2, 1, 3, 2};
  list numbers(static_cast<std::size_t>(view.elements()));
  std::iota(numbers.begin(), numbers.end(), 0);
  std::array<int, 6> axes{0, 1, 2, 3, 4, 5};
  do {
    axis_order order;
    for (int const axis : axes) order[order.rank++] = axis;
    lone_layer<> run(permute{.order = order, .view = view, .extents = {72}}, 1, {shape{72}}, {numbers});
    list expected;
    std::array<int, 6> index{};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      std::size_t rest = i, source = 0, stride = 1;
      for (int axis = 5; axis >= 0; --axis) {
        auto const extent = static_cast<std::size_t>(view[axes[static_cast<std::size_t>(axis)]]);
        index[static_cast<std::size_t>(axes[static_cast<std::size_t>(axis)])] =
            static_cast<int>(rest % extent);
        rest /= extent;
      }
      for (int axis = 5; axis >= 0; --axis) {
        source += static_cast<std::size_t>(index[static_cast<std::size_t>(axis)]) * stride;
        stride *= static_cast<std::size_t>(view[axis]);
      }
      expected.push_back(static_cast<double>(source));
    }
    ASSERT_EQ(run.forward(), expected);
    ASSERT_EQ(run.differentiate(expected), numbers);
  } while (std::ranges::next_permutation(axes).found);
}

TEST(bilinear_upsampling, of_one_row_repeats_it_and_interpolates_between_columns) {
  lone_layer<> run(bilinear_upsampling{.factor = 2}, 1, {shape{1, 1, 2}}, {{0, 4}});
  EXPECT_EQ(run.forward(), (list{0, 1, 3, 4, 0, 1, 3, 4}));
  EXPECT_EQ(run.differentiate({1, 1, 1, 1, 1, 1, 1, 1}), (list{4, 4}));
  lone_layer<> aligned(bilinear_upsampling{.factor = {1, 2}, .align_corners = true}, 1, {shape{1, 1, 2}},
                       {{0, 3}});
  EXPECT_EQ(aligned.forward(), (list{0, 1, 2, 3}));
}

TEST(embedding, maps_indices_to_a_sequence_of_vectors_and_sums_gradients) {
  lone_layer<> run(embedding{.vocabulary = 3, .width = 2}, 2, {shape{2}}, {{2, 0, 2, 2}},
                   {{1, 2, 3, 4, 5, 6}});
  EXPECT_EQ(run.forward(), (list{5, 6, 1, 2, 5, 6, 5, 6}));
  EXPECT_EQ(run.differentiate({1, 2, 4, 8, 16, 32, 64, 128}), (list{0, 0, 0, 0}));
  EXPECT_EQ(run.diff_parameters[0], (list{4, 8, 0, 0, 1 + 16 + 64, 2 + 32 + 128}));
}

TEST(embedding, maps_an_image_of_indices_to_an_image_of_vectors) {
  lone_layer<> run(embedding{.vocabulary = 3, .width = 2}, 1, {shape{1, 2}}, {{2, 0}}, {{1, 2, 3, 4, 5, 6}});
  EXPECT_EQ(run.forward(), (list{5, 1, 6, 2}));
  run.differentiate({1, 2, 4, 8});
  EXPECT_EQ(run.diff_parameters[0], (list{2, 8, 0, 0, 1, 4}));
}

TEST(embedding, reports_the_example_and_position_of_an_index_outside_the_vocabulary) {
  graph const net =
      graph::build([](builder& b) { return b.input({2}) | embedding{.vocabulary = 3, .width = 2}; });
  trial<reference<float>> t(net, {.batch = 2, .training = false});
  t.batch.inputs[0] = {0, 2, 1, 0};
  t.run->forward(t.batch.input_views, {});
  for (float const wrong : {3.0F, -1.0F, 0.5F, 1e30F, std::nanf("")}) {
    t.batch.inputs[0][3] = wrong;
    expect_parts(refused<data_error>([&] { t.run->forward(t.batch.input_views, {}); }),
                 {"an index is not in the vocabulary", "example 1 of the batch, index 1", "0 to 2"});
  }
}

TEST(shapes, that_a_layer_cannot_process_are_refused_with_the_documented_messages) {
  constexpr std::string_view image = "this layer needs an input of channels x height x width";
  EXPECT_EQ(refusal_of(zero_padding{.sides = 1}, shape{4}), image);
  EXPECT_EQ(refusal_of(cropping{.sides = 1}, shape{4, 4}), image);
  EXPECT_EQ(refusal_of(zero_padding{.sides = {0, -1, 0, 0}}, shape{2, 4, 4}), "a side must not be negative");
  EXPECT_EQ(refusal_of(cropping{.sides = {0, 0, 0, -1}}, shape{2, 4, 4}), "a side must not be negative");
  EXPECT_EQ(refusal_of(zero_padding{.sides = padding::same}, shape{2, 4, 4}),
            "the sides must be numbers: top, bottom, left, right");
  EXPECT_EQ(refusal_of(cropping{.sides = {2, 2, 0, 0}}, shape{2, 4, 4}),
            "the cropping removes the whole image");
  EXPECT_EQ(refusal_of(cropping{.sides = {0, 0, 1, 3}}, shape{2, 4, 4}),
            "the cropping removes the whole image");
  EXPECT_EQ(refusal_of(upsampling{.factor = {2, 0}}, shape{2, 4, 4}), "the factor must be at least 1");
  EXPECT_EQ(refusal_of(upsampling{.factor = 2}, shape{4}),
            "upsampling needs an input of channels x height x width");
  EXPECT_EQ(refusal_of(reshape{.extents = {3, 4}}, shape{3, 5}), "reshape must keep the number of elements");
  EXPECT_EQ(refusal_of(reshape{.extents = {-3, -5}}, shape{3, 5}), "every extent must be at least 1");
  EXPECT_EQ(refusal_of(reshape{.extents = {1, 1, 3, 5}}, shape{3, 5}),
            "the target shape of reshape must have one to three extents");
  EXPECT_EQ(refusal_of(permute{.order = {0, 0}}, shape{3, 5}),
            "the order must contain each axis once, counted from 0");
  EXPECT_EQ(refusal_of(permute{.order = {1, 2}}, shape{3, 5}),
            "the order must contain each axis once, counted from 0");
  EXPECT_EQ(refusal_of(permute{.order = {1, 0}}, shape{3, 5, 2}),
            "the order must contain each axis once, counted from 0");
  EXPECT_EQ(refusal_of(permute{.order = {1, 0}, .view = {3, 4}}, shape{3, 5}),
            "the view must keep the number of elements");
  EXPECT_EQ(refusal_of(permute{.order = {1, 0}, .view = {-3, -5}}, shape{3, 5}),
            "every extent must be at least 1");
  EXPECT_EQ(refusal_of(permute{.order = {1, 0}, .extents = {3, 4}}, shape{3, 5}),
            "permute must keep the number of elements");
  EXPECT_EQ(refusal_of(permute{.order = {3, 2, 1, 0}, .view = {1, 3, 5, 1}}, shape{3, 5}),
            "the result of permute must have one to three extents");
  EXPECT_EQ(refusal_of(bilinear_upsampling{.factor = {2, 0}}, shape{2, 4, 4}),
            "the factor must be at least 1");
  EXPECT_EQ(refusal_of(embedding{.vocabulary = 0, .width = 4}, shape{3}),
            "an embedding needs a vocabulary of at least 1");
  EXPECT_EQ(refusal_of(embedding{.vocabulary = (1 << 24) + 1, .width = 4}, shape{3}),
            "the vocabulary must be at most 2^24: f32 cannot represent larger indices");
  EXPECT_EQ(refusal_of(embedding{.vocabulary = 5, .width = 0}, shape{3}),
            "an embedding needs a width of at least 1");
  EXPECT_EQ(refusal_of(embedding{.vocabulary = 1, .width = 4, .mask_zero = true}, shape{3}),
            "mask_zero needs a vocabulary of at least 2: index 0 is padding");
  EXPECT_EQ(refusal_of(embedding{.vocabulary = 5, .width = 4}, shape{3, 1, 1}),
            "the indices must have one or two extents");
}

}  // namespace reshape_test
