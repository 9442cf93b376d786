// SPDX-License-Identifier: Apache-2.0
// covers: layer/scale layer/subset
#include <gtest/gtest.h>
#include <cohort/graph/network.hpp>

#include <cmath>
#include <vector>

#include "../data/refused.hpp"
#include "lone_layer.hpp"

namespace arithmetic_test {

using namespace cohort;
using list = std::vector<double>;

static_assert(shape_of(multiply{}, shape{3, 4}, shape{3, 4}) == shape{3, 4});
static_assert(shape_of(multiply{}, shape{3, 4, 5}, shape{3, 1, 1}) == shape{3, 4, 5});
static_assert(shape_of(multiply{}, shape{4, 1}, shape{3, 1, 5}, shape{1}) == shape{3, 4, 5});
static_assert(shape_of(add{}, shape{1, 5}, shape{4, 1}) == shape{4, 5});
static_assert(shape_of(add{}, shape{}, shape{3}) == shape{3});
static_assert(shape_of(subset{.first = 2, .last = 5}, shape{9, 4, 4}) == shape{3, 4, 4});
static_assert(shape_of(subset{.first = 0, .last = 1}, shape{9}) == shape{1});
static_assert(network<[](builder& net) {
                tensor const x = net.input({3});
                return x * x * x;
              }>()
                  .view()[2]
                  .kind->name
              == "multiply");

TEST(multiply, computes_gradients_as_products_of_the_other_inputs_even_with_zeros) {
  lone_layer<> run(multiply{}, 1, {shape{3}, shape{3}, shape{3}}, {{2, 0, 0}, {3, 5, 0}, {4, 6, 7}});
  EXPECT_EQ(run.forward(), (list{24, 0, 0}));
  run.differentiate({1, 10, 1});
  EXPECT_EQ(run.diff_inputs[0], (list{12, 300, 0}));
  EXPECT_EQ(run.diff_inputs[1], (list{8, 0, 0}));
  EXPECT_EQ(run.diff_inputs[2], (list{6, 0, 0}));
}

TEST(multiply, broadcasts_axes_of_extent_1_and_sums_the_gradient_over_them) {
  lone_layer<> run(multiply{}, 2, {shape{2, 3}, shape{2, 1}, shape{1, 3}},
                   {{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, {10, 100, -1, 2}, {1, 0, 2, 1, 1, 3}});
  EXPECT_EQ(run.forward(), (list{10, 0, 60, 400, 0, 1200, -7, -8, -27, 2, 4, 18}));
  run.differentiate({1, 1, 1, 1, 2, 1, 1, 1, 1, 0, 1, 2});
  EXPECT_EQ(run.diff_inputs[0], (list{10, 0, 20, 100, 0, 200, -1, -1, -3, 0, 2, 12}));
  EXPECT_EQ(run.diff_inputs[1], (list{1 + 6, 4 + 12, 7 + 8 + 27, 2 + 18}));
  EXPECT_EQ(run.diff_inputs[2], (list{10 + 400, 20 + 1000, 30 + 600, -7, -8 + 4, -9 + 12}));
}

TEST(add, broadcasts_axes_of_extent_1_and_sums_the_gradient_over_them) {
  lone_layer<> run(add{}, 2, {shape{2, 1, 1}, shape{2, 2, 2}, shape{}},
                   {{10, 20, 30, 40}, {1, 2, 3, 4, 5, 6, 7, 8, 1, 1, 1, 1, 2, 2, 2, 2}, {100, 200}});
  EXPECT_EQ(run.forward(),
            (list{111, 112, 113, 114, 125, 126, 127, 128, 231, 231, 231, 231, 242, 242, 242, 242}));
  list const diff{1, 2, 3, 4, 5, 6, 7, 8, 1, 1, 1, 1, 2, 2, 2, 2};
  EXPECT_EQ(run.differentiate(diff), (list{10, 26, 4, 8}));
  EXPECT_EQ(run.diff_inputs[1], diff);
  EXPECT_EQ(run.diff_inputs[2], (list{36, 12}));
}

TEST(broadcasting, sums_gradients_over_long_axes) {
  int const width = 1000;
  list ones(static_cast<std::size_t>(3 * width), 1.0);
  lone_layer<> run(multiply{}, 3, {shape{1, width}, shape{1, 1}}, {ones, {2, 3, 4}});
  EXPECT_EQ(run.forward()[1000], 3);
  run.differentiate(ones);
  EXPECT_EQ(run.diff_inputs[0][2999], 4);
  EXPECT_EQ(run.diff_inputs[1], (list{1000, 1000, 1000}));
}

TEST(broadcasting, refuses_a_vector_with_an_image_and_suggests_a_reshape) {
  constexpr std::string_view advice =
      "a vector is not broadcast over more axes: reshape it to {C, 1, 1} for one value per channel";
  EXPECT_EQ(refusal_of(multiply{}, shape{8, 4, 4}, shape{8}), advice);
  EXPECT_EQ(refusal_of(add{}, shape{4}, shape{4, 4, 4}), advice) << "even if the last axis would fit";
  EXPECT_EQ(refusal_of(add{}, shape{8, 4, 4}, shape{1}), "") << "a single number is not ambiguous";
  int const here = __LINE__;
  auto const vector = [] {
    graph::build([](builder& net) {
      tensor const image = net.input({8, 4, 4});
      return image * (image | dense{.units = 8});
    });
  };
  expect_parts(refused<graph_error>(vector),
               {"multiply", "(vector 8 from line", (std::to_string(here + 4) + ", tensor 8x4x4").c_str(),
                std::to_string(here + 3).c_str()});
}

TEST(average, divides_its_gradient_equally_among_inputs) {
  lone_layer<> run(average{}, 2, {shape{1}, shape{1}}, {{2, 3}, {4, 8}});
  EXPECT_EQ(run.forward(), (list{3, 5.5}));
  run.differentiate({1, 4});
  EXPECT_EQ(run.diff_inputs[0], (list{0.5, 2}));
  EXPECT_EQ(run.diff_inputs[1], (list{0.5, 2}));
}

TEST(maximum, passes_the_gradient_of_a_tie_to_the_first_maximum) {
  lone_layer<> run(maximum{}, 1, {shape{4}, shape{4}, shape{4}}, {{1, 5, 2, 2}, {1, 5, 3, 1}, {1, 4, 3, 9}});
  EXPECT_EQ(run.forward(), (list{1, 5, 3, 9}));
  run.differentiate({1, 2, 3, 4});
  EXPECT_EQ(run.diff_inputs[0], (list{1, 2, 0, 0}));
  EXPECT_EQ(run.diff_inputs[1], (list{0, 0, 3, 0}));
  EXPECT_EQ(run.diff_inputs[2], (list{0, 0, 0, 4}));
}

TEST(maximum, propagates_nan) {
  double const nan = std::nan("");
  lone_layer<> run(maximum{}, 1, {shape{3}, shape{3}, shape{3}}, {{nan, 1, 1}, {1, nan, 1}, {2, 2, nan}});
  for (double const y : run.forward()) EXPECT_TRUE(std::isnan(y));
}

TEST(joins, report_why_they_refuse_unequal_shapes) {
  EXPECT_EQ(refusal_of(multiply{}, shape{3}, shape{4}),
            "tensors cannot be multiplied: from the last axis on, their extents must be equal or 1");
  EXPECT_EQ(refusal_of(add{}, shape{2, 3}, shape{3, 2}),
            "tensors cannot be added: from the last axis on, their extents must be equal or 1");
  EXPECT_EQ(refusal_of(average{}, shape{3}, shape{3}, shape{3, 1}),
            "only tensors of equal shape can be averaged");
  EXPECT_EQ(refusal_of(maximum{}, shape{3}, shape{1, 3}), "a maximum needs tensors of equal shape");
  EXPECT_EQ(refusal_of(add{}, shape{3}, shape{5, 3}),
            "a vector is not broadcast over a sequence: reshape it to {1, C} for one value per channel");
  auto const unequal = [] { graph::build([](builder& net) { return net.input({3}) * net.input({4}); }); };
  expect_parts(refused<graph_error>(unequal), {"multiply", "left 3", "right 4"});
}

TEST(subset, slices_the_channels_of_a_sequence) {
  lone_layer<> run(subset{.first = 1, .last = 3}, 1, {shape{2, 3}}, {{0, 1, 2, 10, 11, 12}});
  EXPECT_EQ(run.forward(), (list{1, 2, 11, 12}));
  EXPECT_EQ(run.differentiate({1, 2, 3, 4}), (list{0, 1, 2, 0, 3, 4}));
}

TEST(subset, slices_channels_and_has_zero_gradients_elsewhere) {
  lone_layer<> run(subset{.first = 1, .last = 3}, 2, {shape{4, 1, 2}},
                   {{0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17}});
  EXPECT_EQ(run.forward(), (list{2, 3, 4, 5, 12, 13, 14, 15}));
  EXPECT_EQ(run.differentiate({1, 2, 3, 4, 5, 6, 7, 8}),
            (list{0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8, 0, 0}));
  constexpr std::string_view order = "a subset must have 0 <= first < last";
  EXPECT_EQ(refusal_of(subset{.first = -1, .last = 2}, shape{4}), order);
  EXPECT_EQ(refusal_of(subset{.first = 2, .last = 2}, shape{4}), order);
  EXPECT_EQ(refusal_of(subset{.first = 2, .last = 5}, shape{4}),
            "the last of a subset must not exceed the channels of its input");
  EXPECT_EQ(refusal_of(subset{.first = 0, .last = 1}, shape{}), "a subset needs an input with channels");
}

TEST(scale, multiplies_by_a_constant_or_by_a_learned_factor_per_channel) {
  shape const image{2, 1, 2};
  lone_layer<> constant(cohort::scale{.factor = -0.5}, 1, {image}, {{2, 4, 6, 8}});
  EXPECT_EQ(constant.forward(), (list{-1, -2, -3, -4}));
  EXPECT_EQ(constant.differentiate({2, 4, 6, 8}), (list{-1, -2, -3, -4}));
  EXPECT_EQ(cohort::scale{}.parameters({&image, 1}).count, 0);

  cohort::scale const learned{.factor = 3, .learned = true};
  parameter_spec const spec = learned.parameters({&image, 1}).specs[0];
  EXPECT_EQ(spec.dims, shape{2});
  EXPECT_EQ(spec.initial->parameter, 3);
  EXPECT_EQ(spec.role, parameter_role::biases);
  lone_layer<> run(learned, 1, {image}, {{2, 4, 6, 8}}, {{10, 100}});
  EXPECT_EQ(run.forward(), (list{20, 40, 600, 800}));
  EXPECT_EQ(run.differentiate({1, 2, 3, 4}), (list{10, 20, 300, 400}));
  EXPECT_EQ(run.diff_parameters[0], (list{10, 50}));
  lone_layer<> steps(learned, 1, {shape{2, 2}}, {{2, 4, 6, 8}}, {{10, 100}});
  EXPECT_EQ(steps.forward(), (list{20, 400, 60, 800}));
  steps.differentiate({1, 2, 3, 4});
  EXPECT_EQ(steps.diff_parameters[0], (list{2 + 18, 8 + 32}));
  EXPECT_EQ(refusal_of(cohort::scale{.factor = HUGE_VAL}, shape{3}),
            "the factor of a scale must be a finite number");
  EXPECT_EQ(refusal_of(cohort::scale{}, shape{}), "a scale needs an input with channels");
}

}  // namespace arithmetic_test
