// SPDX-License-Identifier: Apache-2.0
// covers: layer/batch_norm layer/group_norm layer/layer_norm layer/lrn
#include <gtest/gtest.h>
#include <cohort/layer/batch_norm.hpp>
#include <cohort/layer/group_norm.hpp>
#include <cohort/layer/layer_norm.hpp>
#include <cohort/layer/lrn.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "inferred.hpp"

namespace normalisation_test {

using namespace cohort;
using namespace inferred_layer;

/// One layer on a batch: forward, and backward from `diff_output`.
template <layer L>
struct passed {
  std::vector<double> output, workspace, diff_input;
  std::vector<std::vector<double>> diff_parameters;

  passed(L const& l, shape const& dims, int batch, std::vector<double> const& input,
         std::vector<std::vector<double>> const& given, std::vector<double> const& diff_output = {},
         step_scalars const& scalars = {.gradient_scale = 1})
      : output(input.size(), 7), workspace(64, 7), diff_input(input.size(), 7) {
    std::vector<double const*> values;
    std::vector<double*> diffs;
    for (auto const& one : given) {
      values.push_back(one.data());
      diff_parameters.emplace_back(one.size(), 7);
    }
    for (auto& one : diff_parameters) diffs.push_back(one.data());
    double const* const inputs[]{input.data()};
    double* const diff_inputs[]{diff_input.data()};
    bool const training = !diff_output.empty();
    host_arguments<double> const a{.batch = batch,
                                   .training = training,
                                   .input_shapes = {&dims, 1},
                                   .output_shape = dims,
                                   .inputs = inputs,
                                   .output = output.data(),
                                   .parameters = values.data(),
                                   .workspace = training ? workspace.data() : nullptr,
                                   .scalars = training ? &scalars : nullptr,
                                   .diff_output = diff_output.data(),
                                   .diff_inputs = diff_inputs,
                                   .diff_parameters = diffs.data()};
    l.forward(a);
    if (training) l.backward(a);
  }
};

void expect_near(std::vector<double> const& got, std::vector<double> const& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-12) << i;
}

constexpr parameter_list of_norm = parameters(batch_norm{.momentum = 0.75}, {5, 3, 4});
static_assert(of_norm.count == 4);
static_assert(of_norm.specs[0].name == "scale" && of_norm.specs[0].role == parameter_role::biases
              && of_norm.specs[0].initial == initialiser(init::ones{}) && of_norm.specs[0].dims == shape{5});
static_assert(of_norm.specs[1].name == "shift" && of_norm.specs[1].role == parameter_role::biases
              && of_norm.specs[1].initial == initialiser(init::zeros{}));
static_assert(of_norm.specs[2].name == "running_mean" && of_norm.specs[2].role == parameter_role::running_mean
              && of_norm.specs[2].initial == initialiser(init::zeros{}) && of_norm.specs[2].momentum == 0.75);
static_assert(of_norm.specs[3].name == "running_variance"
              && of_norm.specs[3].role == parameter_role::running_variance
              && of_norm.specs[3].initial == initialiser(init::ones{}) && of_norm.specs[3].momentum == 0.75);
static_assert(batch_norm{}.momentum == 0.9 && batch_norm{}.epsilon == 1e-5
              && kind_of<batch_norm>.reads_scalars);
static_assert(parameters(layer_norm{}, {5, 3, 4}).specs[0].dims == shape{4});
static_assert(parameters(layer_norm{.axes = 3}, {5, 3, 4}).specs[1].dims == shape{5, 3, 4});
static_assert(parameters(group_norm{.groups = 2}, {4, 5, 3}).specs[0].dims == shape{4});
static_assert(parameters(group_norm{.groups = 2}, {5, 4}).specs[1].dims == shape{4});
static_assert(lrn{}.k == 2 && lrn{}.n == 5 && lrn{}.alpha == 1e-4 && lrn{}.beta == 0.75);
static_assert(inferred(lrn{}, {5, 3, 4}).output == shape{5, 3, 4});

TEST(batch_norm, normalises_each_channel_over_examples_and_positions) {
  // two examples of two channels of two elements; channel 0 holds 1, 3, 5, 7: mean 4, variance 5
  std::vector<double> const input{1, 3, 2, 2, 5, 7, 2, 2};
  passed const p(batch_norm{.epsilon = 4}, {2, 1, 2}, 2, input, {{3, 10}, {100, 200}, {4, 1}, {8, 9}},
                 std::vector<double>{1, 0, 0, 1, 0, 0, 0, 1});
  expect_near(p.output, {97, 99, 200, 200, 101, 103, 200, 200});  // √(5 + 4) = 3
  expect_near(p.diff_parameters[0], {-1, 0});
  expect_near(p.diff_parameters[1], {1, 2});
  // 3/3·(g − Σg/4 − x̂·Σg·x̂/4), x̂ = −1, −1/3, 1/3, 1 and Σg·x̂ = −1
  expect_near({p.diff_input[0], p.diff_input[1], p.diff_input[4], p.diff_input[5]},
              {1 - 0.25 - 0.25, -0.25 - 0.25 / 3, -0.25 + 0.25 / 3, -0.25 + 0.25});
  expect_near({p.diff_input[2], p.diff_input[3], p.diff_input[6], p.diff_input[7]}, {-2.5, 2.5, -2.5, 2.5});
}

TEST(batch_norm, writes_batch_statistics_independently_of_running_statistics_and_weights) {
  std::vector<double> const input{1, 3, 5, 7}, diff(4, 0.0);
  float const weights[]{1, 2};
  passed const p(batch_norm{}, {1, 1, 2}, 2, input, {{1}, {0}, {1}, {8}}, diff,
                 step_scalars{.gradient_scale = 0.125, .weights = weights});
  expect_near(p.diff_parameters[2], {4});
  expect_near(p.diff_parameters[3], {5});
}

TEST(batch_norm, uses_running_statistics_at_inference) {
  passed const p(batch_norm{.epsilon = 1}, {2}, 2, {1, 2, 3, 4}, {{2, 1}, {10, 20}, {1, 0}, {3, 15}});
  expect_near(p.output, {10, 20.5, 12, 21});
}

TEST(batch_norm, outputs_the_shift_for_a_single_vector) {
  passed const p(batch_norm{}, {2}, 1, {5, -6}, {{2, 3}, {10, 20}, {1, 1}, {1, 1}}, {1, 1});
  expect_near(p.output, {10, 20});
  expect_near(p.diff_input, {0, 0});
  expect_near(p.diff_parameters[0], {0, 0});
  expect_near(p.diff_parameters[2], {5, -6});
  expect_near(p.diff_parameters[3], {0, 0});
}

TEST(layer_norm, normalises_the_last_axes_of_each_example) {
  std::vector<double> const input{1, 3, 5, 7};
  passed const rows(layer_norm{.epsilon = 3}, {2, 2}, 1, input, {{4, 6}, {10, 20}});
  expect_near(rows.output, {8, 23, 8, 23});  // √(1 + 3) = 2
  passed const all(layer_norm{.axes = 2, .epsilon = 4}, {2, 2}, 1, input, {{3, 3, 3, 3}, {0, 0, 0, 0}},
                   {1, 0, 0, 0});
  expect_near(all.output, {-3, -1, 1, 3});
  expect_near(all.diff_parameters[0], {-1, 0, 0, 0});
  expect_near(all.diff_parameters[1], {1, 0, 0, 0});
  expect_near(all.diff_input, {1 - 0.25 - 0.25, -0.25 - 0.25 / 3, -0.25 + 0.25 / 3, -0.25 + 0.25});
}

TEST(lrn, divides_by_the_energy_of_neighbouring_channels) {
  // three channels of one element, one neighbour each side: bases 1 + ½·(9 + 16), 1 + ½·(9 + 16 + 1),
  // 1 + ½·(16 + 1)
  passed const p(lrn{.k = 1, .n = 3, .alpha = 0.5, .beta = 0.5}, {3, 1, 1}, 1, {3, 4, 1}, {}, {1, 0, 0});
  expect_near(p.output, {3 / std::sqrt(13.5), 4 / std::sqrt(14), 1 / std::sqrt(9.5)});
  double const slope = -0.5 * 3 / std::pow(13.5, 1.5);
  expect_near(p.diff_input, {1 / std::sqrt(13.5) + slope * 3, slope * 4, 0});
}

TEST(normalisation, reports_why_it_refuses_a_field_or_an_input) {
  EXPECT_EQ(refused(batch_norm{.momentum = 1.5}, {3}),
            "graph: : the momentum of batch normalisation must be in [0, 1]");
  EXPECT_EQ(refused(batch_norm{.epsilon = 0}, {3}),
            "graph: : the epsilon of batch normalisation must be above 0");
  EXPECT_EQ(refused(batch_norm{}, shape()),
            "graph: : batch normalisation needs an input with channels (input scalar)");
  EXPECT_EQ(
      refused(layer_norm{.axes = 3}, {3, 4}),
      "graph: : the axes of layer normalisation must be from 1 to the rank of its input (input 3x4, axes 3)");
  EXPECT_EQ(
      refused(layer_norm{.axes = 0}, {3, 4}),
      "graph: : the axes of layer normalisation must be from 1 to the rank of its input (input 3x4, axes 0)");
  EXPECT_EQ(refused(layer_norm{.epsilon = -1}, {3}),
            "graph: : the epsilon of layer normalisation must be above 0");
  EXPECT_EQ(refused(group_norm{.groups = 3}, {4, 5, 5}),
            "graph: : the groups must divide the channels (input 4x5x5, groups 3)");
  EXPECT_EQ(refused(group_norm{.groups = 0}, {4}),
            "graph: : the groups must divide the channels (input 4, groups 0)");
  EXPECT_EQ(refused(group_norm{.groups = 2, .epsilon = 0}, {4}),
            "graph: : the epsilon of group normalisation must be above 0");
  EXPECT_EQ(refused(lrn{.n = 4}, {3}),
            "graph: : local response normalisation needs an odd number of channels (n 4)");
  EXPECT_EQ(refused(lrn{.k = 0}, {3}), "graph: : the k of local response normalisation must be above 0");
  EXPECT_EQ(refused(lrn{.beta = -1}, {3}),
            "graph: : alpha and beta of local response normalisation must not be negative");
}

}  // namespace normalisation_test
