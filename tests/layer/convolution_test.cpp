// SPDX-License-Identifier: Apache-2.0
// covers: layer/conv1d layer/conv2d_transposed layer/separable_conv2d
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/graph/network.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "../plan/trial.hpp"
#include "inferred.hpp"

namespace convolution_test {

using namespace cohort;
using namespace inferred_layer;
using B = reference<double>;

constexpr bool is(parameter_spec const& spec, shape const& dims, int fan_in, int fan_out) {
  return spec.dims == dims && spec.fan_in == fan_in && spec.fan_out == fan_out;
}

/// Output of the layer for one example, with the given parameters.
template <class Layer>
std::vector<double> output(Layer const& l, shape const& dims, std::vector<double> const& input,
                           std::vector<std::vector<double>> const& parameters) {
  trial<B> t(graph::build([&](builder& net) { return net.input(dims) | l; }),
             {.batch = 1, .training = false});
  for (std::size_t p = 0; p < parameters.size(); ++p)
    t.store->write(static_cast<int>(p), reinterpret_cast<std::byte const*>(parameters[p].data()),
                   t.store->master());
  t.batch.inputs[0].assign(input.begin(), input.end());
  t.run->forward(t.batch.input_views, {});
  return t.output();
}

// Dilation and groups, computed by hand.
static_assert(made(conv2d{.filters = 4, .kernel = 3, .dilation = {1, 2}}, {1, 7, 7}) == shape{4, 5, 3});
static_assert(made(conv2d{.filters = 4, .kernel = 4, .stride = 2, .padding = padding::same, .dilation = 3},
                   {1, 7, 8})
              == shape{4, 4, 4});
static_assert(made(conv2d{.filters = 6, .kernel = 3, .groups = 3}, {9, 5, 5}) == shape{6, 3, 3});
constexpr parameter_list grouped = parameters(conv2d{.filters = 6, .kernel = {5, 2}, .groups = 3}, {9, 5, 5});
static_assert(is(grouped.specs[0], {6, 3, 5, 2}, 3 * 10, 2 * 10)
              && is(grouped.specs[1], {6}, 3 * 10, 2 * 10));
static_assert(is(parameters(conv2d{.filters = 8, .kernel = 3, .groups = 4}, {4, 9, 9}).specs[0], {8, 1, 3, 3},
                 9, 18),
              "depthwise, two filters a channel");
static_assert(
    kind_of<conv2d>.flops(detail::encode(conv2d{.filters = 6, .kernel = {5, 2}, .groups = 3}).data(),
                          std::array{shape{9, 5, 5}})
    == 2.0 * 6 * 1 * 4 * 3 * 10);

static_assert(made(conv1d{.filters = 4, .kernel = 3}, {9, 2}) == shape{7, 4});
static_assert(made(conv1d{.filters = 4, .kernel = 3, .stride = 2, .padding = 1, .dilation = 2}, {9, 2})
              == shape{4, 4});
static_assert(made(conv1d{.filters = 4, .kernel = 4, .stride = 2, .padding = padding::same}, {9, 2})
              == shape{5, 4});
static_assert(made(conv1d{.filters = 4, .kernel = 2, .padding = padding(0, 0, 1, 0)}, {9, 2}) == shape{9, 4});
static_assert(is(parameters(conv1d{.filters = 4, .kernel = 5, .groups = 2}, {9, 6}).specs[0], {4, 3, 5}, 15,
                 10));

static_assert(made(conv2d_transposed{.filters = 4, .kernel = 3, .stride = 2}, {2, 3, 5}) == shape{4, 7, 11});
static_assert(made(conv2d_transposed{.filters = 4, .kernel = 3, .stride = 2, .padding = 1}, {2, 3, 5})
              == shape{4, 5, 9});
static_assert(made(conv2d_transposed{.filters = 4, .kernel = 3, .stride = 2, .padding = padding(1, 0, 1, 0)},
                   {2, 3, 5})
                  == shape{4, 6, 10},
              "PyTorch's padding 1 and output_padding 1");
static_assert(made(conv2d_transposed{.filters = 4, .kernel = 4, .stride = 3, .padding = padding::same},
                   {2, 3, 5})
              == shape{4, 9, 15});
static_assert(made(conv2d_transposed{.filters = 4, .kernel = 1, .stride = 3, .padding = padding::same},
                   {2, 3, 5})
                  == shape{4, 9, 15},
              "more stride than kernel");
static_assert(made(conv2d_transposed{.filters = 4, .kernel = 2, .padding = padding::strict, .dilation = 3},
                   {2, 3, 5})
              == shape{4, 6, 8});
static_assert(is(parameters(conv2d_transposed{.filters = 4, .kernel = 3, .groups = 2}, {6, 3, 5}).specs[0],
                 {4, 3, 3, 3}, 27, 18));

constexpr auto given_alone = detail::encode(conv2d{.filters = 0, .kernel = 0});
static_assert(std::equal(given_alone.begin(), given_alone.end(), kind_of<conv2d>.defaults),
              "a description knows what is not given");

TEST(convolution, applies_each_group_of_filters_to_a_separate_group_of_channels) {
  // channels (1, 2) and (3, 4): each filter uses only its two channels
  EXPECT_EQ(output(conv2d{.filters = 2, .kernel = 1, .groups = 2}, {4, 1, 1}, {1, 2, 3, 4},
                   {{10, 100, 1000, 10000}, {5, 6}}),
            (std::vector<double>{10 + 200 + 5, 3000 + 40000 + 6}));
  // depthwise, two filters per channel: filters 0 and 1 use channel 0
  EXPECT_EQ(output(conv2d{.filters = 4, .kernel = 1, .groups = 2, .bias = false}, {2, 1, 1}, {1, 2},
                   {{1, 2, 3, 4}}),
            (std::vector<double>{1, 2, 6, 8}));
}

TEST(convolution, spaces_kernel_elements_by_the_dilation) {
  EXPECT_EQ(
      output(conv1d{.filters = 1, .kernel = 2, .dilation = 3}, {5, 1}, {1, 2, 3, 4, 5}, {{1, 10}, {0.5}}),
      (std::vector<double>{1 + 40 + 0.5, 2 + 50 + 0.5}));
}

TEST(convolution, pads_the_odd_element_of_an_even_kernel_at_the_end) {
  // 4 outputs with stride 1 and kernel 2: one element of padding at the end
  EXPECT_EQ(output(conv1d{.filters = 1, .kernel = 2, .padding = padding::same, .bias = false}, {4, 1},
                   {1, 2, 3, 4}, {{1, 10}}),
            (std::vector<double>{21, 32, 43, 4}));
}

TEST(convolution, transposed_adds_a_scaled_kernel_for_every_input) {
  conv2d_transposed const l{.filters = 1, .kernel = {1, 3}, .stride = {1, 2}};
  std::vector<double> const row{1, 10}, kernel{1, 2, 3};
  EXPECT_EQ(output(l, {1, 1, 2}, row, {kernel, {0.5}}),
            (std::vector<double>{1.5, 2.5, 3 + 10 + 0.5, 20.5, 30.5}));
  conv2d_transposed same = l;
  same.padding = padding::same;
  EXPECT_EQ(output(same, {1, 1, 2}, row, {kernel, {0}}), (std::vector<double>{1, 2, 13, 20}));
}

TEST(convolution, separable_is_a_depthwise_and_a_pointwise_layer) {
  graph const net = graph::build([](builder& b) {
    return b.input({3, 8, 8})
           | separable_conv2d{.filters = 7, .kernel = 3, .stride = 2, .multiplier = 2, .name = "mixed"};
  });
  graph_view const view = net;
  ASSERT_EQ(view.size(), 3);
  EXPECT_EQ(view[1].output, (shape{6, 3, 3}));
  EXPECT_EQ(view[2].output, (shape{7, 3, 3}));
  EXPECT_EQ(view.name(2), "mixed");
  EXPECT_EQ(view.parameter_count(), 6 * 9 + 7 * 6 + 7);
}

constexpr auto at_compile_time = network<[](builder& net) {
  return net.input({4, 8, 8}) | separable_conv2d{.filters = 6, .kernel = 3} | relu{}
         | conv2d_transposed{.filters = 2, .kernel = 2, .stride = 2} | dense{.units = 3};
}>();
static_assert(at_compile_time.parameter_count()
              == 4 * 9 + (4 * 6 + 6) + (6 * 2 * 4 + 2) + (2 * 12 * 12 * 3 + 3));

TEST(convolution, reports_why_it_refuses_a_field_or_an_input) {
  EXPECT_EQ(refused(conv2d{.filters = 6, .kernel = 1, .groups = 4}, {6, 9, 9}),
            "graph: : the channels must be divisible by the groups (channels 6, groups 4)");
  EXPECT_EQ(refused(conv2d{.filters = 6, .kernel = 1, .groups = 4}, {8, 9, 9}),
            "graph: : the filters must be divisible by the groups (filters 6, groups 4)");
  EXPECT_EQ(refused(conv2d{.filters = 6, .kernel = 1, .groups = 0}, {8, 9, 9}),
            "graph: : a convolution needs at least one group (groups 0)");
  EXPECT_EQ(refused(conv2d{.filters = 6, .kernel = 1, .dilation = {1, 0}}, {8, 9, 9}),
            "graph: : the dilation must be at least 1 (dilation 1x0)");
  EXPECT_EQ(refused(conv2d{.filters = 6, .kernel = 3, .dilation = 4}, {8, 8, 9}),
            "graph: : the kernel is larger than its input (input 8x8x9, kernel 9x9)");
  EXPECT_EQ(refused(conv1d{.filters = 6, .kernel = 1}, {8, 9, 9}),
            "graph: : this layer needs a sequence: steps x channels (input 8x9x9)");
  EXPECT_EQ(refused(conv1d{.filters = 6, .kernel = 2, .padding = padding(1, 0, 0, 0)}, {9, 8}),
            "graph: : a sequence cannot have padding at the top or bottom (padding 1x0x0x0)");
  EXPECT_EQ(refused(conv1d{.filters = 6, .kernel = 1, .groups = 3}, {9, 8}),
            "graph: : the channels must be divisible by the groups (channels 8, groups 3)");
  EXPECT_EQ(refused(conv2d_transposed{.filters = 6, .kernel = 1}, {8}),
            "graph: : this layer needs an input of channels x height x width (input 8)");
  EXPECT_EQ(refused(conv2d_transposed{.filters = 6, .kernel = {3, 4}, .padding = 2}, {8, 1, 1}),
            "graph: : the padding removes the whole output (input 8x1x1, padding 2x2x2x2)");
  EXPECT_EQ(refused(conv2d_transposed{.filters = 6, .kernel = 3, .padding = 3}, {8, 9, 9}),
            "graph: : the padding must be smaller than the kernel (input 6x5x5, kernel 3x3)");
  EXPECT_EQ(refused(conv2d_transposed{.filters = 6, .kernel = 2, .stride = 0}, {8, 9, 9}),
            "graph: : the stride must be at least 1 (stride 0x0)");
  EXPECT_EQ(
      refused(conv2d_transposed{.filters = 6, .kernel = 2, .stride = 0, .padding = padding::same}, {8, 9, 9}),
      "graph: : the stride must be at least 1 (stride 0x0)");
  EXPECT_EQ(refused(conv2d_transposed{.filters = 6, .kernel = 2, .groups = 3}, {8, 9, 9}),
            "graph: : the channels must be divisible by the groups (channels 8, groups 3)");
  EXPECT_EQ(refused(conv2d_transposed{.filters = 0, .kernel = 2}, {8, 9, 9}),
            "graph: : a convolution needs at least one filter (filters 0)");
}

}  // namespace convolution_test
