// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/avg_pool.hpp>
#include <cohort/layer/conv1d.hpp>
#include <cohort/layer/conv2d_transposed.hpp>
#include <cohort/layer/global_pool.hpp>
#include <cohort/layer/separable_conv2d.hpp>

#include "row.hpp"

namespace operations {

/// A sequence, length × channels, that depends on parameters.
inline tensor sequence(builder& net, int channels, int length) {
  return net.input({length, 2}) | conv1d{.filters = channels, .kernel = 1};
}

inline constexpr row windows[]{
    {"window_01_conv2d_dilated",
     [](builder& net, draw& d) {
       extent2 const dilation{d.between(1, 3), d.between(2, 3)};
       return image(net, {3, 11, 12})
              | conv2d{.filters = d.between(1, 18), .kernel = 3, .dilation = dilation};
     }},
    {"window_02_conv2d_dilated_same_with_a_stride",
     [](builder& net, draw& d) {
       return image(net, {d.between(1, 17), 9, 10})
              | conv2d{.filters = 4, .kernel = {2, 3}, .stride = 2, .padding = padding::same, .dilation = 2};
     }},
    {"window_03_conv2d_dilated_with_padding_on_each_side",
     [](builder& net, draw& d) {
       padding const sides(d.between(0, 2), d.between(0, 2), d.between(0, 2), d.between(0, 2));
       return image(net, {3, 8, 9})
              | conv2d{.filters = 5, .kernel = 3, .padding = sides, .dilation = 2, .bias = false};
     }},
    {"window_04_conv2d_in_groups",
     [](builder& net, draw& d) {
       int const groups = d.between(2, 4), in = d.between(1, 5), out = d.between(1, 5);
       return image(net, {groups * in, 6, 7})
              | conv2d{.filters = groups * out, .kernel = 3, .padding = 1, .groups = groups} | relu{};
     }},
    {"window_05_conv2d_in_groups_of_whole_blocks",
     [](builder& net, draw& d) {
       return image(net, {32, 5, 6})
              | conv2d{.filters = 32 * d.between(1, 2), .kernel = 3, .stride = 2, .groups = 2, .bias = false};
     }},
    {"window_06_conv2d_in_groups_dilated",
     [](builder& net, draw& d) {
       int const groups = d.between(2, 3);
       return image(net, {groups * 2, 7, 8})
              | conv2d{
                  .filters = groups, .kernel = 3, .padding = padding::same, .dilation = 2, .groups = groups};
     }},
    {"window_07_conv2d_depthwise",
     [](builder& net, draw& d) {
       int const channels = d.between(2, 19);
       return image(net, {channels, 7, 6}) | conv2d{.filters = channels, .kernel = 3, .groups = channels};
     }},
    {"window_08_conv2d_depthwise_with_a_stride",
     [](builder& net, draw& d) {
       int const channels = 16 * d.between(1, 2);
       return image(net, {channels, 8, 7})
              | conv2d{.filters = channels,
                       .kernel = 3,
                       .stride = 2,
                       .padding = padding::same,
                       .groups = channels}
              | relu{};
     }},
    {"window_09_conv2d_depthwise_with_several_filters_a_channel",
     [](builder& net, draw& d) {
       int const channels = d.between(2, 6), multiplier = d.between(2, 3);
       return image(net, {channels, 6, 6})
              | conv2d{.filters = channels * multiplier, .kernel = {2, 3}, .groups = channels};
     }},
    {"window_10_separable_conv2d",
     [](builder& net, draw& d) {
       return image(net, {d.between(2, 9), 7, 8})
              | separable_conv2d{.filters = d.between(3, 17),
                                 .kernel = 3,
                                 .stride = d.between(1, 2),
                                 .padding = padding::same,
                                 .multiplier = d.between(1, 2)}
              | relu{};
     }},
    {"window_11_conv1d",
     [](builder& net, draw& d) {
       return sequence(net, d.between(1, 18), 13)
              | conv1d{.filters = d.between(1, 20), .kernel = d.between(1, 5)} | relu{};
     }},
    {"window_12_conv1d_same_with_a_stride",
     [](builder& net, draw& d) {
       return sequence(net, 3, d.between(9, 12))
              | conv1d{.filters = 7, .kernel = 4, .stride = 2, .padding = padding::same}
              | conv1d{.filters = 4, .kernel = 2, .padding = padding(0, 0, 0, 1), .bias = false};
     }},
    {"window_13_conv1d_dilated_in_groups",
     [](builder& net, draw& d) {
       int const groups = d.between(2, 4);
       return sequence(net, 2 * groups, 14)
              | conv1d{.filters = 3 * groups, .kernel = 3, .padding = 1, .dilation = 2, .groups = groups};
     }},
    {"window_14_conv2d_transposed",
     [](builder& net, draw& d) {
       return image(net, {d.between(1, 17), 4, 5})
              | conv2d_transposed{.filters = d.between(1, 18), .kernel = 3};
     }},
    {"window_15_conv2d_transposed_with_a_stride",
     [](builder& net, draw& d) {
       extent2 const stride{d.between(1, 3), d.between(2, 3)};
       return image(net, {5, 4, 3})
              | conv2d_transposed{.filters = d.between(1, 9), .kernel = {2, 3}, .stride = stride} | relu{}
              | conv2d{.filters = 3, .kernel = 2};
     }},
    {"window_16_conv2d_transposed_same",
     [](builder& net, draw& d) {
       return image(net, {d.between(1, 16), 3, 4})
              | conv2d_transposed{
                  .filters = 6, .kernel = d.between(1, 4), .stride = 2, .padding = padding::same};
     }},
    {"window_17_conv2d_transposed_with_padding_on_each_side",
     [](builder& net, draw& d) {
       padding const sides(1, d.between(0, 1), d.between(0, 2), 1);
       return image(net, {16, 4, 5})
              | conv2d_transposed{.filters = 16, .kernel = 3, .stride = 2, .padding = sides, .bias = false};
     }},
    {"window_18_conv2d_transposed_dilated_in_groups",
     [](builder& net, draw& d) {
       int const groups = d.between(1, 3);
       return image(net, {2 * groups, 4, 4})
              | conv2d_transposed{
                  .filters = 3 * groups, .kernel = 2, .stride = 2, .dilation = 2, .groups = groups};
     }},
    {"window_19_avg_pool",
     [](builder& net, draw& d) {
       return image(net, {d.between(1, 19), 7, 6}) | avg_pool{.window = 2};
     }},
    {"window_20_avg_pool_with_padding_and_overlapping_windows",
     [](builder& net, draw& d) {
       padding const sides(d.between(0, 1), 1, d.between(0, 2), 0);
       return image(net, {d.between(1, 16), 7, 7})
              | avg_pool{.window = 3, .stride = {2, 1}, .padding = sides};
     }},
    {"window_21_avg_pool_same",
     [](builder& net, draw& d) {
       return image(net, {16, d.between(4, 9), 7})
              | avg_pool{.window = {2, 3}, .stride = 2, .padding = padding::same} | relu{};
     }},
    {"window_22_global_avg_pool",
     [](builder& net, draw& d) {
       return image(net, {16 * d.between(1, 2), 5, d.between(1, 6)}) | relu{} | global_avg_pool{};
     }},
    {"window_23_global_max_pool",
     [](builder& net, draw& d) {
       return image(net, {16 * d.between(1, 2), 5, d.between(1, 6)}) | global_max_pool{};
     }},
    {"window_24_global_pools_of_odd_channels_and_of_a_sequence",
     [](builder& net, draw& d) {
       tensor const x =
           image(net, {d.between(1, 21), 4, 5}) | conv2d{.filters = d.between(1, 19), .kernel = 2};
       tensor const y = sequence(net, d.between(1, 17), 9);
       return concat(x | global_avg_pool{}, x | global_max_pool{}, y | global_avg_pool{},
                     y | global_max_pool{});
     }},
};

}  // namespace operations
