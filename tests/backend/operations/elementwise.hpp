// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>

#include "row.hpp"

namespace operations {

/// Integers from 0 to `below` − 1, equal in float and double, without a gradient: each counts the positive
/// numbers among `below` − 1 normal random numbers.
inline tensor whole_numbers(builder& net, shape extents, int below) {
  int const axis = channel_axis(extents), channels = extents[axis];
  extents[axis] *= std::max(below - 1, 1);
  tensor const bits = net.input(extents) | cohort::scale{.factor = 1e30} | hard_sigmoid{};
  if (below == 1) return bits | cohort::scale{.factor = 0};
  tensor sum = bits | subset{.first = 0, .last = channels};
  for (int first = channels; first < extents[axis]; first += channels)
    sum = sum + (bits | subset{.first = first, .last = first + channels});
  return sum;
}

/// An activation on channels that do not fill a block of 16, then after a convolution, then after a dense
/// layer.
template <layer L>
tensor activation(builder& net, draw& d, L const& l) {
  tensor const x = image(net, {d.between(1, 19), 5, 4}) | l;
  return x | conv2d{.filters = d.between(1, 18), .kernel = 2} | l | dense{.units = 21} | l;
}

inline constexpr row elementwise[]{
    {"relu6", [](builder& net, draw& d) { return activation(net, d, relu6{}); }},
    {"prelu_with_a_slope_a_channel",
     [](builder& net, draw& d) {
       return image(net, {d.between(1, 19), 5, 4}) | prelu{} | dense{.units = d.between(1, 9)} | prelu{};
     }},
    {"prelu_with_one_slope",
     [](builder& net, draw& d) {
       return image(net, {d.between(1, 9), 5, 4}) | prelu{.per_channel = false};
     }},
    {"elu", [](builder& net, draw& d) { return activation(net, d, elu{}); }},
    {"elu_with_another_alpha", [](builder& net, draw& d) { return activation(net, d, elu{.alpha = 0.4}); }},
    {"selu", [](builder& net, draw& d) { return activation(net, d, selu{}); }},
    {"sigmoid", [](builder& net, draw& d) { return activation(net, d, sigmoid{}); }},
    {"hard_sigmoid", [](builder& net, draw& d) { return activation(net, d, hard_sigmoid{}); }},
    {"tanh", [](builder& net, draw& d) { return activation(net, d, tanh_activation{}); }},
    {"hard_tanh", [](builder& net, draw& d) { return activation(net, d, hard_tanh{}); }},
    {"softplus", [](builder& net, draw& d) { return activation(net, d, softplus{}); }},
    {"softsign", [](builder& net, draw& d) { return activation(net, d, softsign{}); }},
    {"swish", [](builder& net, draw& d) { return activation(net, d, swish{}); }},
    {"gelu", [](builder& net, draw& d) { return activation(net, d, gelu{}); }},
    {"gelu_tanh", [](builder& net, draw& d) { return activation(net, d, gelu_tanh{}); }},
    {"mish", [](builder& net, draw& d) { return activation(net, d, mish{}); }},
    {"identity", [](builder& net, draw& d) { return activation(net, d, cohort::identity_activation{}); }},
    {"softmax_of_a_vector",
     [](builder& net, draw& d) { return net.input({6}) | dense{.units = d.between(2, 20)} | softmax{}; }},
    {"softmax_at_each_place_of_an_image",
     [](builder& net, draw& d) {
       return image(net, {d.between(2, 19), 3, 4}) | softmax{};
     }},
    {"log_softmax_of_a_vector",
     [](builder& net, draw& d) { return net.input({6}) | dense{.units = d.between(2, 20)} | log_softmax{}; }},
    {"log_softmax_at_each_place_of_an_image",
     [](builder& net, draw& d) {
       return image(net, {d.between(2, 19), 3, 4}) | log_softmax{};
     }},
    {"activation_of_the_batch",
     [](builder& net, draw& d) {
       return net.input({d.between(1, 19), 3, 3}) | swish{} | dense{.units = 4};
     }},
    {"multiply_three",
     [](builder& net, draw& d) {
       tensor const x = net.input({d.between(1, 9)});
       tensor const a = x | dense{.units = 21}, b = x | dense{.units = 21} | relu{},
                    c = x | dense{.units = 21} | sigmoid{};
       return join(multiply{}, a, b, c);
     }},
    {"multiply_images_and_a_square",
     [](builder& net, draw& d) {
       tensor const x = image(net, {d.between(1, 19), 4, 4});
       return x * (x | tanh_activation{}) | conv2d{.filters = 4, .kernel = 2} |
              [](tensor y) { return y * y; };
     }},
    {"multiply_an_image_by_a_number_per_channel",
     [](builder& net, draw& d) {
       int const channels = d.between(1, 40);
       tensor const x = image(net, {channels, 5, 4});
       tensor const gate = x | global_avg_pool{} | dense{.units = channels} | sigmoid{};
       return x * (gate | reshape{.extents = {channels, 1, 1}}) | conv2d{.filters = 3, .kernel = 2};
     }},
    {"multiply_tensors_that_repeat_along_different_axes",
     [](builder& net, draw& d) {
       int const channels = d.between(1, 19), height = d.between(1, 5);
       tensor const x = net.input({6});
       tensor const a = x | dense{.units = channels * height} | reshape{.extents = {channels, height, 1}},
                    b = x | dense{.units = 3} | reshape{.extents = {1, 1, 3}},
                    c = x | dense{.units = height} | reshape{.extents = {height, 1}};
       return join(multiply{}, a, b, c, x | dense{.units = 1});
     }},
    {"add_a_number_per_channel_and_one_per_place",
     [](builder& net, draw& d) {
       int const channels = d.between(1, 19);
       tensor const x = net.input({6});
       tensor const a = x | dense{.units = channels} | reshape{.extents = {channels, 1, 1}},
                    b = image(net, {channels, 4, 5}), c = image(net, {1, 4, 5});
       return join(add{}, a, b, c) | relu{} | conv2d{.filters = 2, .kernel = 3};
     }},
    {"add_a_number_per_channel_to_a_convolution",
     [](builder& net, draw& d) {
       int const channels = d.between(1, 19);
       tensor const x = image(net, {channels, 4, 5});
       tensor const each = net.input({6}) | dense{.units = channels} | reshape{.extents = {channels, 1, 1}};
       return (x + each) | relu{} | conv2d{.filters = 2, .kernel = 3};
     }},
    {"add_a_row_and_a_column",
     [](builder& net, draw& d) {
       int const rows = d.between(2, 40), columns = d.between(2, 7);
       tensor const x = net.input({5});
       return (x | dense{.units = rows} | reshape{.extents = {rows, 1}})
              + (x | dense{.units = columns} | reshape{.extents = {1, columns}});
     }},
    {"squeeze_and_excite",
     [](builder& net, draw& d) {
       int const channels = d.between(2, 33);
       tensor const x = net.input({2, 6, 6}) | conv2d{.filters = channels, .kernel = 1, .bias = false}
                        | batch_norm{} | relu{};
       tensor const gate = x | global_avg_pool{} | dense{.units = 2} | relu{} | dense{.units = channels}
                           | sigmoid{} | reshape{.extents = {channels, 1, 1}};
       return (x * gate) | max_pool{.window = 2};
     }},
    {"matmul_of_one_matrix_per_example",
     [](builder& net, draw& d) {
       int const rows = d.between(1, 9), inner = d.between(1, 17), columns = d.between(1, 20);
       tensor const x = net.input({7});
       return join(matmul{}, x | dense{.units = rows * inner} | reshape{.extents = {rows, inner}},
                   x | dense{.units = inner * columns} | reshape{.extents = {inner, columns}});
     }},
    {"matmul_of_transposed_matrices",
     [](builder& net, draw& d) {
       int const rows = d.between(1, 9), inner = d.between(1, 17), columns = d.between(1, 20);
       tensor const x = net.input({7}) | dense{.units = rows * inner};
       tensor const y = x | dense{.units = inner * columns};
       tensor const a = x | reshape{.extents = {inner, rows}}, b = y | reshape{.extents = {columns, inner}};
       tensor const both = join(matmul{.transpose_a = true, .transpose_b = true}, a, b);
       tensor const left = join(matmul{.transpose_a = true}, a, y | reshape{.extents = {inner, columns}});
       tensor const right = join(matmul{.transpose_b = true}, x | reshape{.extents = {rows, inner}}, b);
       return both + left + right;
     }},
    {"matmul_that_repeats_matrices",
     [](builder& net, draw& d) {
       int const inner = d.between(1, 9), heads = d.between(2, 5);
       tensor const x = image(net, {heads, 4, inner}) | tanh_activation{},
                    y = image(net, {1, inner, 3}) | tanh_activation{};
       tensor const weights = net.input({6}) | dense{.units = 3 * 5} | reshape{.extents = {3, 5}};
       return join(matmul{}, join(matmul{}, x, y), weights);
     }},
    {"attention_with_two_heads",
     [](builder& net, draw& d) {
       int const tokens = d.between(2, 9), width = d.between(1, 17);
       tensor const x = net.input({2, tokens, width});
       auto const projected = [&](tensor y) { return y | conv2d{.filters = 2, .kernel = 1}; };
       tensor const scores = join(matmul{.transpose_b = true}, projected(x), projected(x))
                             | cohort::scale{.factor = 0.5} | sigmoid{};
       return join(matmul{}, scores, projected(x));
     }},
    {"average_three_images",
     [](builder& net, draw& d) {
       tensor const x = image(net, {3, 5, 5});
       int const filters = d.between(1, 20);
       tensor const a = x | conv2d{.filters = filters, .kernel = 2},
                    b = x | conv2d{.filters = filters, .kernel = 2};
       return join(average{}, a, b, a | relu{});
     }},
    {"maximum_of_three",
     [](builder& net, draw& d) {
       tensor const x = image(net, {d.between(1, 9), 4, 4});
       tensor const a = x | conv2d{.filters = 17, .kernel = 2}, b = x | conv2d{.filters = 17, .kernel = 2};
       return join(maximum{}, a, b, b | swish{});
     }},
    {"subset_of_channels",
     [](builder& net, draw& d) {
       int const first = d.between(0, 5), last = first + d.between(1, 14);
       tensor const x = image(net, {19, 3, 4});
       return concat(x | subset{.first = first, .last = last}, x) | dense{.units = 9}
              | subset{.first = 2, .last = 7};
     }},
    {"scale_by_a_constant",
     [](builder& net, draw& d) {
       return image(net, {d.between(1, 19), 4, 3}) | cohort::scale{.factor = -0.7};
     }},
    {"scale_that_is_learned",
     [](builder& net, draw& d) {
       return image(net, {d.between(1, 19), 4, 3}) | cohort::scale{.factor = 1.5, .learned = true}
              | dense{.units = 6} | cohort::scale{.learned = true};
     }},
    {"zero_padding_on_each_side",
     [](builder& net, draw& d) {
       padding const sides(d.between(0, 2), d.between(0, 2), d.between(0, 2), d.between(0, 2));
       return image(net, {d.between(1, 19), 4, 3}) | zero_padding{.sides = sides};
     }},
    {"cropping_on_each_side",
     [](builder& net, draw& d) {
       padding const sides(d.between(0, 2), d.between(0, 2), d.between(0, 2), d.between(0, 2));
       return image(net, {d.between(1, 19), 7, 6}) | cropping{.sides = sides};
     }},
    {"upsampling",
     [](builder& net, draw& d) {
       extent2 const factor{d.between(1, 3), d.between(1, 4)};
       return image(net, {d.between(1, 19), 3, 4}) | upsampling{.factor = factor}
              | conv2d{.filters = 3, .kernel = 2};
     }},
    {"bilinear_upsampling",
     [](builder& net, draw& d) {
       extent2 const factor{d.between(1, 3), d.between(1, 4)};
       tensor const x = image(net, {d.between(1, 19), 3, 4}) | bilinear_upsampling{.factor = factor};
       return x | conv2d{.filters = 3, .kernel = 2} | bilinear_upsampling{.factor = 2, .align_corners = true};
     }},
    {"permute_an_image",
     [](builder& net, draw& d) {
       return image(net, {d.between(1, 19), 3, d.between(1, 5)}) | permute{.order = {2, 0, 1}}
              | conv2d{.filters = 3, .kernel = 2} | permute{.order = {1, 2, 0}};
     }},
    {"channel_shuffle_and_pixel_shuffle",
     [](builder& net, draw& d) {
       int const groups = d.between(1, 4), channels = 4 * d.between(1, 5);
       return image(net, {groups * channels, 3, 2})
              | permute{.order = {1, 0, 2},
                        .view = {groups, channels, 6},
                        .extents = {groups * channels, 3, 2}}
              | conv2d{.filters = channels, .kernel = 1}
              | permute{.order = {0, 3, 1, 4, 2},
                        .view = {channels / 4, 2, 2, 3, 2},
                        .extents = {channels / 4, 6, 4}};
     }},
    {"reshape_and_flatten",
     [](builder& net, draw& d) {
       int const width = d.between(1, 9);
       return image(net, {4, 3, width}) | reshape{.extents = {2, 2 * width, 3}}
              | conv2d{.filters = 17, .kernel = 1} | flatten{} | tanh_activation{};
     }},
    {"embedding_of_a_sentence",
     [](builder& net, draw& d) {
       int const vocabulary = d.between(1, 12);
       return whole_numbers(net, {d.between(1, 9)}, vocabulary)
              | embedding{.vocabulary = vocabulary, .width = d.between(1, 18)};
     }},
    {"embedding_of_an_image_of_indices",
     [](builder& net, draw& d) {
       return whole_numbers(net, {d.between(2, 4), 5}, 7)
              | embedding{.vocabulary = 7, .width = d.between(1, 18)} | conv2d{.filters = 3, .kernel = 2};
     }},
    {"dropout",
     [](builder& net, draw& d) {
       return image(net, {d.between(1, 19), 4, 3}) | dropout{.rate = 0.3} | dense{.units = 9} | dropout{};
     }},
    {"spatial_dropout",
     [](builder& net, draw& d) {
       return image(net, {d.between(1, 19), 4, 3}) | spatial_dropout{.rate = 0.4};
     }},
    {"gaussian_noise",
     [](builder& net, draw& d) {
       return image(net, {d.between(1, 19), 4, 3}) | gaussian_noise{.deviation = 0.5} | tanh_activation{};
     }},
};

}  // namespace operations
