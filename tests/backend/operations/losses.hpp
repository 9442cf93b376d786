// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "row.hpp"

namespace operations {

/// A vector or an image that depends on parameters.
inline tensor outputs(builder& net, draw& d) {
  if (d.between(0, 1) == 0) return net.input({d.between(2, 9)}) | dense{.units = d.between(1, 12)};
  return image(net, {d.between(1, 4), d.between(1, 5), 3});
}

inline constexpr row losses[]{
    {"loss_01_softmax_cross_entropy_with_label_smoothing",
     [](builder& net, draw& d) {
       return net.input({5}) | dense{.units = d.between(2, 12)}
              | softmax_cross_entropy{.label_smoothing = 0.1, .weight = 0.5};
     }},
    {"loss_02_kullback_leibler",
     [](builder& net, draw& d) {
       return net.input({5}) | dense{.units = d.between(2, 12)} | kullback_leibler{.weight = 2};
     }},
    {"loss_03_binary_cross_entropy",
     [](builder& net, draw& d) { return outputs(net, d) | binary_cross_entropy{}; }},
    {"loss_04_mean_squared_error",
     [](builder& net, draw& d) { return outputs(net, d) | mean_squared_error{.weight = 3}; }},
    {"loss_05_mean_absolute_error",
     [](builder& net, draw& d) { return outputs(net, d) | mean_absolute_error{}; }},
    {"loss_06_huber", [](builder& net, draw& d) { return outputs(net, d) | huber{}; }},
    {"loss_07_huber_with_a_small_delta",
     [](builder& net, draw& d) { return outputs(net, d) | huber{.delta = 0.25, .weight = 0.5}; }},
    {"loss_08_hinge", [](builder& net, draw& d) { return outputs(net, d) | hinge{}; }},
    {"loss_09_behind_a_layer_without_weights",
     [](builder& net, draw& d) {
       return image(net, {d.between(1, 5), 6, 6}) | max_pool{.window = 2} | relu{} | mean_squared_error{};
     }},
    {"loss_10_one_value_read_by_several",
     [](builder& net, draw& d) {
       tensor const x = outputs(net, d);
       x | mean_squared_error{.weight = 0.25};
       x | binary_cross_entropy{.weight = 0.5};
       tensor const classes = x | relu{} | dense{.units = 4};
       classes | softmax_cross_entropy{};
       return classes | hinge{.weight = 2};
     }},
    {"loss_11_ignored_targets",
     [](builder& net, draw& d) {
       return net.input({5}) | dense{.units = d.between(2, 12)}
              | softmax_cross_entropy{.label_smoothing = 0.2, .ignore_index = 1};
     }},
    {"loss_12_dice",
     [](builder& net, draw& d) {
       return net.input({d.between(2, 9), 3}) | dense{.units = d.between(2, 5)} | dice{.smooth = 0.5};
     }},
    {"loss_13_dice_of_several_labels",
     [](builder& net, draw& d) {
       return net.input({d.between(2, 9), 3}) | dense{.units = 3} | dice{.multi_label = true, .weight = 0.5};
     }},
};

}  // namespace operations
