// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/activation.hpp>
#include <cohort/layer/batch_norm.hpp>
#include <cohort/layer/conv1d.hpp>
#include <cohort/layer/global_pool.hpp>
#include <cohort/layer/group_norm.hpp>
#include <cohort/layer/layer_norm.hpp>
#include <cohort/layer/lrn.hpp>
#include <cohort/layer/synchronised_batch_norm.hpp>

#include "row.hpp"

namespace operations {

/// Scale and shift other than 1 and 0. A bias directly before a norm of its channel would have a gradient of
/// rounding errors only, so a relu is between them.
inline constexpr layer_settings uneven{.bias = init::normal{0.7}};

inline constexpr row normalisations[]{
    {"normalisation_01_batch_norm",
     [](builder& net, draw& d) {
       return image(net, {d.between(1, 19), 5, 6}) | relu{} | batch_norm{.settings = uneven};
     }},
    {"normalisation_02_batch_norm_of_whole_blocks_between_convolutions",
     [](builder& net, draw& d) {
       return image(net, {16, 6, 6}) | relu{}
              | conv2d{.filters = 16 * d.between(1, 2), .kernel = 3, .bias = false}
              | batch_norm{.epsilon = 1e-3, .settings = uneven} | relu{} | conv2d{.filters = 5, .kernel = 2};
     }},
    {"normalisation_03_batch_norm_of_the_batch_itself",
     [](builder& net, draw& d) {
       return net.input({d.between(1, 3), 6, 5}) | batch_norm{.settings = uneven}
              | conv2d{.filters = 4, .kernel = 3};
     }},
    {"normalisation_04_batch_norm_of_units",
     [](builder& net, draw& d) {
       // ε is large: a variance of few examples may be small, and 1/√variance would magnify rounding errors
       // of f32.
       return net.input({7}) | dense{.units = d.between(1, 33)}
              | batch_norm{.epsilon = 0.5, .settings = uneven} | relu{} | dense{.units = 4};
     }},
    {"normalisation_05_batch_norm_of_a_sequence",
     [](builder& net, draw& d) {
       return net.input({9, 2}) | conv1d{.filters = d.between(1, 18), .kernel = 2} | relu{}
              | batch_norm{.settings = uneven} | global_avg_pool{};
     }},
    {"normalisation_06_layer_norm",
     [](builder& net, draw& d) {
       return net.input({7}) | dense{.units = d.between(4, 33)}
              | layer_norm{.epsilon = 0.1, .settings = uneven} | relu{};
     }},
    {"normalisation_07_layer_norm_of_all_axes",
     [](builder& net, draw& d) {
       return image(net, {d.between(1, 17), 4, 5}) | layer_norm{.axes = 3, .settings = uneven}
              | conv2d{.filters = 5, .kernel = 2};
     }},
    {"normalisation_08_layer_norm_of_rows",
     [](builder& net, draw& d) {
       return image(net, {d.between(1, 5), 3, 9}) | relu{}
              | layer_norm{.axes = d.between(1, 2), .epsilon = 0.1};
     }},
    {"normalisation_09_lrn",
     [](builder& net, draw& d) {
       return image(net, {d.between(1, 20), 4, 5}) | lrn{} | conv2d{.filters = 3, .kernel = 2};
     }},
    {"normalisation_10_lrn_of_whole_blocks",
     [](builder& net, draw& d) {
       return image(net, {16 * d.between(1, 2), 5, 6}) | lrn{.k = 1, .alpha = 0.3} | relu{};
     }},
    {"normalisation_11_lrn_of_other_windows",
     [](builder& net, draw& d) {
       return image(net, {9, 4, 4}) | lrn{.k = 1.5, .n = 2 * d.between(0, 4) + 1, .alpha = 0.2, .beta = 0.5};
     }},
    {"normalisation_12_batch_norm_of_a_whole_batch",
     [](builder& net, draw& d) {
       return image(net, {d.between(1, 19), 5, 6}) | relu{} | synchronised_batch_norm{.settings = uneven}
              | relu{};
     }},
    {"normalisation_13_batch_norm_with_a_leaky_relu",
     [](builder& net, draw& d) {
       return image(net, {d.between(1, 19), 5, 6}) | batch_norm{.epsilon = 0.1, .settings = uneven}
              | leaky_relu{.slope = 0.2} | conv2d{.filters = 16, .kernel = 1}
              | batch_norm{.epsilon = 0.1, .settings = uneven} | leaky_relu{.slope = 0.1}
              | conv2d{.filters = 3, .kernel = 2};
     }},
    {"normalisation_14_batch_norm_with_a_leaky_relu_of_units",
     [](builder& net, draw& d) {
       return net.input({7}) | dense{.units = d.between(1, 33)}
              | batch_norm{.epsilon = 0.5, .settings = uneven} | leaky_relu{.slope = 0.3} | dense{.units = 4};
     }},
    {"normalisation_15_a_sum_with_batch_norm",
     [](builder& net, draw& d) {
       tensor const x = image(net, {d.between(1, 19), 5, 6}) | leaky_relu{};
       tensor const y = ((x | batch_norm{.epsilon = 0.1, .settings = uneven}) + x) | relu{};
       return (y + (y | batch_norm{.epsilon = 0.1, .settings = uneven})) | conv2d{.filters = 3, .kernel = 2};
     }},
    {"normalisation_16_residual_blocks",
     [](builder& net, draw& d) {
       int const channels = 16 * d.between(1, 2);
       auto const branch = [&](tensor x, int kernel) {
         return x | conv2d{.filters = channels, .kernel = kernel, .padding = kernel / 2, .bias = false}
                | batch_norm{.epsilon = 0.1, .settings = uneven};
       };
       tensor const x = image(net, {16, 3, 3});
       tensor const y = (branch(x, 3) + branch(x, 1)) | relu{};
       return ((y | leaky_relu{}) + branch(y, 3)) | leaky_relu{.slope = 0.2}
              | conv2d{.filters = 5, .kernel = 2};
     }},
    {"normalisation_17_group_norm",
     [](builder& net, draw& d) {
       int const groups = d.between(1, 4);
       return image(net, {groups * d.between(1, 5), 4, 5}) | relu{}
              | group_norm{.groups = groups, .epsilon = 0.1, .settings = uneven}
              | conv2d{.filters = 3, .kernel = 2} | relu{}
              | group_norm{.groups = 3, .epsilon = 0.1, .settings = uneven};
     }},
    {"normalisation_18_group_norm_of_units",
     [](builder& net, draw& d) {
       int const groups = d.between(1, 3);
       return net.input({7}) | dense{.units = groups * d.between(4, 11)}
              | group_norm{.groups = groups, .epsilon = 0.1, .settings = uneven} | relu{};
     }},
    {"normalisation_19_group_norm_of_a_sequence",
     [](builder& net, draw& d) {
       int const groups = d.between(1, 3);
       return net.input({5, 3}) | dense{.units = groups * d.between(2, 5)}
              | group_norm{.groups = groups, .epsilon = 0.1, .settings = uneven} | dense{.units = 4};
     }},
};

}  // namespace operations
