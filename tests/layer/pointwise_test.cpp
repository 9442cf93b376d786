// SPDX-License-Identifier: Apache-2.0
// covers: layer/bounded_activations layer/prelu layer/rectifying_activations layer/softmax
#include <gtest/gtest.h>
#include <cohort/layer/layers.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "lone_layer.hpp"

namespace pointwise_test {

using namespace cohort;

static_assert(shape_of(sigmoid{}, shape{3, 4, 5}) == shape{3, 4, 5} && shape_of(elu{}, shape{7}) == shape{7});
static_assert(shape_of(softmax{}, shape{3, 4, 5}) == shape{3, 4, 5});
static_assert(kind_of<tanh_activation>.name == "tanh" && kind_of<swish>.name == "swish");
static_assert(!(kind_of<relu6> == kind_of<hard_tanh>), "aliases of one template are kinds of their own");
static_assert(sigmoid{.name = "gate"}.name == "gate");

template <class T, layer L>
std::vector<T> values(L const& l, std::vector<T> const& x) {
  return lone_layer<T>(l, 1, {shape{static_cast<int>(x.size())}}, {x}).forward();
}
template <class T, layer L>
std::vector<T> derivatives(L const& l, std::vector<T> const& x) {
  lone_layer<T> run(l, 1, {shape{static_cast<int>(x.size())}}, {x});
  run.forward();
  return run.differentiate(std::vector<T>(x.size(), 1));
}

TEST(activations, have_the_values_computed_by_hand) {
  std::vector<double> const x{-7, -2.5, -1, 0, 0.5, 1, 2.5, 7};
  using list = std::vector<double>;
  EXPECT_EQ(values(relu6{}, x), (list{0, 0, 0, 0, 0.5, 1, 2.5, 6}));
  EXPECT_EQ(values(hard_tanh{}, x), (list{-1, -1, -1, 0, 0.5, 1, 1, 1}));
  EXPECT_EQ(values(hard_sigmoid{}, x), (list{0, 0, 0.3, 0.5, 0.6, 0.7, 1, 1}));
  EXPECT_EQ(values(softsign{}, list{-3, 0, 1}), (list{-0.75, 0, 0.5}));
  EXPECT_EQ(values(cohort::identity_activation{}, x), x);
  for (double const y : {values(sigmoid{}, list{0})[0], values(swish{}, list{1e-300})[0] / 1e-300})
    EXPECT_EQ(y, 0.5);
  EXPECT_DOUBLE_EQ(values(elu{.alpha = 2}, list{std::log(0.25)})[0], -1.5);
  EXPECT_DOUBLE_EQ(values(softplus{}, list{0})[0], std::log(2));
  EXPECT_DOUBLE_EQ(values(tanh_activation{}, list{std::log(3)})[0], 0.8);
  EXPECT_DOUBLE_EQ(values(mish{}, list{std::log(std::sqrt(2) - 1)})[0], std::log(std::sqrt(2) - 1) / 3);
}

TEST(activations, have_derivative_0_at_the_clipping_bounds) {
  using list = std::vector<double>;
  EXPECT_EQ(derivatives(relu6{}, list{-1, 0, 0.5, 6, 7}), (list{0, 0, 1, 0, 0}));
  EXPECT_EQ(derivatives(hard_tanh{}, list{-2, -1, 0, 1, 2}), (list{0, 0, 1, 0, 0}));
  EXPECT_EQ(derivatives(hard_sigmoid{}, list{-3, -2.5, 0, 2.5, 3}), (list{0, 0, 0.2, 0, 0}));
}

template <layer L>
void expect_finite_far_out(L const& l) {
  SCOPED_TRACE(L::kind_name);
  std::vector<float> const x{-3e38F, -1e4F, -100, 100, 1e4F, 3e38F};
  for (float const y : values(l, x)) EXPECT_TRUE(std::isfinite(y));
  for (float const y : derivatives(l, x)) {
    EXPECT_TRUE(std::isfinite(y));
    EXPECT_LE(std::abs(y), 1.1F);
  }
}

TEST(activations, stay_finite_if_their_exponential_overflows) {
  expect_finite_far_out(elu{});
  expect_finite_far_out(selu{});
  expect_finite_far_out(sigmoid{});
  expect_finite_far_out(tanh_activation{});
  expect_finite_far_out(softplus{});
  expect_finite_far_out(softsign{});
  expect_finite_far_out(swish{});
  expect_finite_far_out(gelu{});
  expect_finite_far_out(gelu_tanh{});
  expect_finite_far_out(mish{});
  EXPECT_EQ(values(mish{}, std::vector<float>{50})[0], 50);
  EXPECT_EQ(values(softplus{}, std::vector<float>{50})[0], 50);
}

TEST(activations, are_accurate_for_small_and_very_negative_inputs) {
  EXPECT_FLOAT_EQ(values(elu{}, std::vector<float>{-1e-20F})[0], -1e-20F);
  EXPECT_FLOAT_EQ(values(softplus{}, std::vector<float>{-30})[0], 9.3576230e-14F);
  EXPECT_NEAR(values(gelu{}, std::vector<double>{-10})[0] / -7.61985302416052e-23, 1, 1e-12);
  EXPECT_NEAR(derivatives(softsign{}, std::vector<float>{1e6F})[0] / 1e-12F, 1, 1e-5);
}

TEST(activations, propagate_nan) {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  for (float const y :
       {values(relu6{}, std::vector<float>{nan})[0], values(hard_tanh{}, std::vector<float>{nan})[0],
        values(hard_sigmoid{}, std::vector<float>{nan})[0], values(elu{}, std::vector<float>{nan})[0]})
    EXPECT_TRUE(std::isnan(y));
}

TEST(activations, refuse_an_elu_whose_alpha_is_not_positive) {
  for (double const alpha : {0.0, -1.0, std::nan("")})
    EXPECT_EQ(refusal_of(elu{.alpha = alpha}, shape{3}),
              "the alpha of an elu must be a finite number above 0");
  EXPECT_EQ(refusal_of(elu{.alpha = 0.1}, shape{3}), "");
}

TEST(prelu, learns_a_slope_per_channel_or_a_shared_slope) {
  shape const image{2, 1, 2};
  parameter_spec const spec = prelu{}.parameters({&image, 1}).specs[0];
  EXPECT_EQ(spec.dims, shape{2});
  EXPECT_EQ(spec.role, parameter_role::biases);
  EXPECT_EQ(spec.initial->parameter, 0.25);
  lone_layer<> each(prelu{}, 2, {image}, {{1, -2, -3, 0, -1, -1, 4, -5}}, {{0.5, 0.25}});
  EXPECT_EQ(each.forward(), (std::vector<double>{1, -1, -0.75, 0, -0.5, -0.5, 4, -1.25}));
  EXPECT_EQ(each.differentiate({1, 2, 3, 4, 5, 6, 7, 8}), (std::vector<double>{1, 1, 0.75, 1, 2.5, 3, 7, 2}));
  EXPECT_EQ(each.diff_parameters[0], (std::vector<double>{-4 - 5 - 6, -9 - 40}));

  prelu const shared{.per_channel = false};
  EXPECT_EQ(shared.parameters({&image, 1}).specs[0].dims, shape{1});
  lone_layer<> one(shared, 1, {image}, {{1, -2, -3, 0}}, {{0.5}});
  EXPECT_EQ(one.forward(), (std::vector<double>{1, -1, -1.5, 0}));
  one.differentiate({1, 2, 3, 4});
  EXPECT_EQ(one.diff_parameters[0], (std::vector<double>{-13}));
  EXPECT_EQ(refusal_of(prelu{}, shape{}), "a prelu needs an input with channels");
}

TEST(softmax, sums_to_1_over_channels_at_each_position) {
  double const l2 = std::log(2), l3 = std::log(3);
  lone_layer<> run(softmax{}, 1, {shape{2, 1, 2}}, {{0, 0, l3, l2}});
  std::vector<double> const wanted{0.25, 1 / 3.0, 0.75, 2 / 3.0};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(run.forward()[i], wanted[i]);
  std::vector<double> const diff = run.differentiate({1, 0, 0, 0});
  EXPECT_DOUBLE_EQ(diff[0], 3 / 16.0);
  EXPECT_DOUBLE_EQ(diff[2], -3 / 16.0);
  EXPECT_EQ(diff[1], 0);
  for (float const y : values(softmax{}, std::vector<float>{3e38F, -3e38F})) EXPECT_TRUE(y == 0 || y == 1);
  lone_layer<> wide(softmax{}, 2, {shape{2, 10, 13}}, {std::vector<double>(2 * 260, 1)});
  EXPECT_EQ(wide.forward(), std::vector<double>(2 * 260, 0.5)) << "more places than a block";
  EXPECT_EQ(wide.differentiate(std::vector<double>(2 * 260, 3)), std::vector<double>(2 * 260, 0));
  EXPECT_EQ(refusal_of(softmax{}, shape{1, 4, 4}), "softmax needs at least two channels");
}

}  // namespace pointwise_test
