// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>

#include "row.hpp"

namespace operations {

/// Integers from 0 to below − 1, equal in float and double: the number of positive ones among below − 1
/// normal numbers. They have no gradient.
inline tensor whole_numbers(builder& net, shape extents, int below) {
  int const channels = extents[0];
  extents[0] *= std::max(below - 1, 1);
  tensor const bits = net.input(extents) | cohort::scale{.factor = 1e30} | hard_sigmoid{};
  if (below == 1) return bits | cohort::scale{.factor = 0};
  tensor sum = bits | subset{.first = 0, .last = channels};
  for (int first = channels; first < extents[0]; first += channels)
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
    {"mish", [](builder& net, draw& d) { return activation(net, d, mish{}); }},
    {"identity", [](builder& net, draw& d) { return activation(net, d, cohort::identity{}); }},
    {"softmax_of_a_vector",
     [](builder& net, draw& d) { return net.input({6}) | dense{.units = d.between(2, 20)} | softmax{}; }},
    {"softmax_at_each_place_of_an_image",
     [](builder& net, draw& d) {
       return image(net, {d.between(2, 19), 3, 4}) | softmax{};
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
