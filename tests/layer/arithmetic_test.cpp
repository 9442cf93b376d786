// SPDX-License-Identifier: Apache-2.0
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
static_assert(shape_of(subset{.first = 2, .last = 5}, shape{9, 4, 4}) == shape{3, 4, 4});
static_assert(shape_of(subset{.first = 0, .last = 1}, shape{9}) == shape{1});
static_assert(network<[](builder& net) {
                tensor const x = net.input({3});
                return x * x * x;
              }>()
                  .view()[2]
                  .kind->name
              == "multiply");

TEST(multiply, has_the_product_of_the_other_inputs_as_its_gradient_even_with_zeros) {
  lone_layer<> run(multiply{}, 1, {shape{3}, shape{3}, shape{3}}, {{2, 0, 0}, {3, 5, 0}, {4, 6, 7}});
  EXPECT_EQ(run.forward(), (list{24, 0, 0}));
  run.differentiate({1, 10, 1});
  EXPECT_EQ(run.diff_inputs[0], (list{12, 300, 0}));
  EXPECT_EQ(run.diff_inputs[1], (list{8, 0, 0}));
  EXPECT_EQ(run.diff_inputs[2], (list{6, 0, 0}));
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

TEST(joins, explain_what_they_refuse) {
  EXPECT_EQ(refusal_of(multiply{}, shape{3}, shape{4}), "only tensors of equal shape can be multiplied");
  EXPECT_EQ(refusal_of(average{}, shape{3}, shape{3}, shape{3, 1}),
            "only tensors of equal shape can be averaged");
  EXPECT_EQ(refusal_of(maximum{}, shape{3}, shape{1, 3}), "a maximum needs tensors of equal shape");
  auto const unequal = [] { graph::build([](builder& net) { return net.input({3}) * net.input({4}); }); };
  expect_parts(refused<graph_error>(unequal), {"multiply", "left 3", "right 4"});
}

TEST(subset, slices_the_first_axis_and_has_zero_gradients_elsewhere) {
  lone_layer<> run(subset{.first = 1, .last = 3}, 2, {shape{4, 2}},
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
  shape const image{2, 2};
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
  EXPECT_EQ(refusal_of(cohort::scale{.factor = HUGE_VAL}, shape{3}),
            "the factor of a scale must be a finite number");
  EXPECT_EQ(refusal_of(cohort::scale{}, shape{}), "a scale needs an input with channels");
}

}  // namespace arithmetic_test
