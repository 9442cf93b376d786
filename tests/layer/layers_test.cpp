// SPDX-License-Identifier: Apache-2.0
// covers: layer/activation layer/dense layer/join layer/parameter
#include <gtest/gtest.h>
#include <cohort/layer/layers.hpp>

#include <array>
#include <string>

namespace layers_test {

using namespace cohort;

template <layer L, class... Shapes>
constexpr inference inferred(L const& l, Shapes... inputs) {
  std::array<shape, sizeof...(Shapes)> const all{inputs...};
  return l.infer(all);
}
template <layer L>
constexpr parameter_list parameters(L const& l, shape const& input) {
  return l.parameters({&input, 1});
}
constexpr bool is(parameter_spec const& spec, std::string_view name, shape const& dims, parameter_role role,
                  int fan_in, int fan_out) {
  return spec.name == name && spec.dims == dims && spec.role == role && spec.fan_in == fan_in
         && spec.fan_out == fan_out && !spec.initial;
}

constexpr parameter_list convolution = parameters(conv2d{.filters = 50, .kernel = {5, 3}}, {20, 12, 12});
static_assert(convolution.count == 2);
static_assert(is(convolution.specs[0], "weights", {50, 20, 5, 3}, parameter_role::weights, 20 * 15, 50 * 15));
static_assert(is(convolution.specs[1], "bias", {50}, parameter_role::biases, 20 * 15, 50 * 15));
static_assert(parameters(conv2d{.filters = 5, .kernel = 2, .bias = false}, {3, 4, 4}).count == 1);

constexpr parameter_list units = parameters(dense{.units = 200}, {50, 2, 2});
static_assert(units.count == 2);
static_assert(is(units.specs[0], "weights", {200, 200}, parameter_role::weights, 200, 200));
static_assert(is(units.specs[1], "bias", {200}, parameter_role::biases, 200, 200));
static_assert(parameters(dense{.units = 5, .bias = false}, {3}).count == 1);

static_assert(inferred(dense{.units = 200}, shape{50, 2, 2}).output == shape{200},
              "an image is taken as it is");
static_assert(inferred(relu{}, shape{3, 4, 5}).output == shape{3, 4, 5});
static_assert(inferred(leaky_relu{}, shape{7}).output == shape{7});
static_assert(inferred(add{}, shape{3, 4}, shape{3, 4}, shape{3, 4}).output == shape{3, 4});
static_assert(inferred(concatenate{}, shape{3, 4, 4}, shape{5, 4, 4}, shape{1, 4, 4}).output
              == shape{9, 4, 4});
static_assert(inferred(concatenate{}, shape{3}, shape{5}).output == shape{8});
static_assert(inferred(concatenate{}, shape{6, 3}, shape{6, 5}).output == shape{6, 8});
static_assert(inferred(dense{.units = 5}, shape{7, 3}).output == shape{7, 5}, "each step of a sequence");
static_assert(parameters(dense{.units = 5}, {7, 3}).specs[0].dims == shape{5, 3});
static_assert(dense{.units = 10}.flops(std::array{shape{7, 20}}) == 2800);
static_assert(inferred(softmax_cross_entropy{}, shape{10}).output == shape{10});
static_assert(inferred(input{.extents = {1, 28, 28}}).output == shape{1, 28, 28});
static_assert(leaky_relu{}.slope == 0.01);
static_assert(conv2d{.filters = 20, .kernel = 5}.flops(std::array{shape{1, 28, 28}})
              == 2.0 * 20 * 24 * 24 * 25);
static_assert(dense{.units = 10}.flops(std::array{shape{200}}) == 4000);

template <layer L, class... Shapes>
std::string refused(L const& l, Shapes... inputs) {
  inference const result = inferred(l, inputs...);
  EXPECT_TRUE(result.problem.found());
  return std::string(result.problem.text().view());
}

TEST(layers, report_why_they_refuse_a_field_or_an_input) {
  EXPECT_EQ(refused(dense{.units = 0}, shape{3}), "graph: : a dense layer needs at least one unit (units 0)");
  EXPECT_EQ(refused(leaky_relu{.slope = 1}, shape{3}),
            "graph: : the slope of a leaky relu must be in [0, 1)");
  EXPECT_EQ(refused(leaky_relu{.slope = -0.1}, shape{3}),
            "graph: : the slope of a leaky relu must be in [0, 1)");
  EXPECT_EQ(
      refused(add{}, shape{3, 4}, shape{3, 4}, shape{3, 5}),
      "graph: : tensors cannot be added: from the last axis on, their extents must be equal or 1 (left 3x4, "
      "right 3x5)");
  EXPECT_EQ(refused(concatenate{}, shape{3, 4, 4}, shape{3, 4, 5}),
            "graph: : concatenated tensors may differ in their channels only (left 3x4x4, right 3x4x5)");
  EXPECT_EQ(refused(concatenate{}, shape{3, 4, 4}, shape{3}),
            "graph: : concatenated tensors may differ in their channels only (left 3x4x4, right 3)");
  EXPECT_EQ(refused(softmax_cross_entropy{}, shape{3, 4, 4}),
            "graph: : softmax needs one logit per class: put a dense layer before it (input 3x4x4)");
  EXPECT_EQ(refused(softmax_cross_entropy{}, shape{1}),
            "graph: : softmax needs at least two classes (input 1)");
  EXPECT_EQ(refused(input{.extents = {1, 0, 3}}),
            "graph: : every extent of an input must be at least 1 (input 1x0x3)");
  EXPECT_EQ(refused(input{.extents = {1, 2, 3, 4}}),
            "graph: : an input must have one to three extents (input 1x2x3x4)");
}

}  // namespace layers_test
