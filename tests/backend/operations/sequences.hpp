// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/conv1d.hpp>
#include <cohort/layer/embedding.hpp>
#include <cohort/layer/global_pool.hpp>
#include <cohort/layer/zero_masked.hpp>

#include "row.hpp"

namespace operations {

/// A masked sequence, length × channels, that depends on parameters.
inline tensor masked_sequence(builder& net, int channels, int length) {
  return net.masked_input({length, 2}) | dense{.units = channels};
}

inline constexpr row sequences[]{
    {"sequence_01_dense_at_each_step",
     [](builder& net, draw& d) {
       return net.input({d.between(1, 9), d.between(1, 7)}) | dense{.units = d.between(1, 19)}
              | tanh_activation{} | dense{.units = d.between(1, 5), .bias = false};
     }},
    {"sequence_02_all_layers_with_channels",
     [](builder& net, draw& d) {
       int const length = d.between(2, 9), width = d.between(2, 19);
       tensor const x = net.input({length, 3}) | dense{.units = width} | prelu{} | batch_norm{.epsilon = 0.1};
       tensor const y = concat(x, x | cohort::scale{.factor = 0.5, .learned = true} | softmax{});
       return y | subset{.first = 1, .last = width + 1} | spatial_dropout{} | layer_norm{.epsilon = 0.1}
              | flatten{};
     }},
    {"sequence_03_batch_norm_with_a_rectifier_and_a_sum",
     [](builder& net, draw& d) {
       int const width = d.between(1, 33);
       tensor const x = net.input({d.between(2, 9), 3}) | dense{.units = width} | leaky_relu{};
       tensor const y = ((x | batch_norm{.epsilon = 0.1}) + x) | relu{};
       return y | batch_norm{.epsilon = 0.1} | leaky_relu{.slope = 0.2} | dense{.units = 4};
     }},
    {"sequence_04_embedding_convolution_and_pools",
     [](builder& net, draw& d) {
       int const filters = d.between(1, 20);
       tensor const x = net.input({d.between(3, 12)}) | cohort::scale{.factor = 0}
                        | embedding{.vocabulary = 5, .width = d.between(1, 18)}
                        | conv1d{.filters = filters, .kernel = 3, .padding = padding::same} | relu{};
       return concat(x | global_avg_pool{}, x | global_max_pool{});
     }},
    {"sequence_05_a_class_per_step",
     [](builder& net, draw& d) {
       return net.input({d.between(1, 9), 3}) | dense{.units = d.between(2, 19)}
              | softmax_cross_entropy{.label_smoothing = 0.1, .sum_steps = d.between(0, 1) == 1};
     }},
    {"sequence_06_a_number_per_step",
     [](builder& net, draw& d) {
       return net.input({d.between(1, 9), 3}) | dense{.units = d.between(1, 5)}
              | mean_squared_error{.sum_steps = d.between(0, 1) == 1};
     }},
    {"sequence_07_a_class_per_step_with_a_mask",
     [](builder& net, draw& d) {
       return masked_sequence(net, d.between(2, 19), d.between(1, 9))
              | softmax_cross_entropy{.sum_steps = d.between(0, 1) == 1};
     }},
    {"sequence_08_numbers_per_step_with_a_mask",
     [](builder& net, draw& d) {
       return masked_sequence(net, d.between(1, 5), d.between(1, 9)) | binary_cross_entropy{};
     }},
    {"sequence_09_a_distribution_per_step_with_a_mask",
     [](builder& net, draw& d) {
       return masked_sequence(net, d.between(2, 5), d.between(1, 9)) | kullback_leibler{};
     }},
    {"sequence_10_pools_with_a_mask",
     [](builder& net, draw& d) {
       tensor const x = masked_sequence(net, d.between(1, 19), d.between(1, 9)) | tanh_activation{};
       return concat(x | global_avg_pool{}, x | global_max_pool{});
     }},
    {"sequence_11_convolutions_with_a_mask",
     [](builder& net, draw& d) {
       return masked_sequence(net, d.between(1, 17), d.between(4, 12))
              | conv1d{.filters = d.between(1, 18), .kernel = 3, .padding = padding::same} | relu{}
              | conv1d{.filters = 4, .kernel = 2, .padding = padding::same} | global_avg_pool{};
     }},
    {"sequence_12_batch_norms_with_a_mask",
     [](builder& net, draw& d) {
       tensor const x = masked_sequence(net, d.between(1, 19), d.between(2, 9)) | tanh_activation{}
                        | batch_norm{.epsilon = 0.1} | relu{};
       return x | synchronised_batch_norm{.epsilon = 0.1} | relu{} | global_avg_pool{};
     }},
    {"sequence_13_flatten_with_a_mask",
     [](builder& net, draw& d) {
       return masked_sequence(net, d.between(1, 5), d.between(1, 9)) | sigmoid{} | flatten{};
     }},
    {"sequence_14_joins_with_a_mask",
     [](builder& net, draw& d) {
       int const width = d.between(1, 9);
       tensor const x = masked_sequence(net, width, d.between(1, 9));
       tensor const a = x | dense{.units = width} | tanh_activation{}, b = x | sigmoid{};
       return join(average{}, a, b, a * b, a + b) | layer_norm{.epsilon = 0.1} | dropout{}
              | global_max_pool{};
     }},
    {"sequence_15_ignored_targets",
     [](builder& net, draw& d) {
       return net.input({d.between(2, 9), 3}) | dense{.units = d.between(2, 19)}
              | softmax_cross_entropy{
                  .label_smoothing = 0.1, .sum_steps = d.between(0, 1) == 1, .ignore_index = -100};
     }},
    {"sequence_16_ignored_targets_with_a_mask",
     [](builder& net, draw& d) {
       return masked_sequence(net, d.between(2, 19), d.between(1, 9)) | tanh_activation{}
              | batch_norm{.epsilon = 0.1}
              | softmax_cross_entropy{.sum_steps = d.between(0, 1) == 1, .ignore_index = 0};
     }},
    {"sequence_17_a_tied_output_layer",
     [](builder& net, draw& d) {
       int const words = d.between(2, 9), width = d.between(1, 18);
       return net.input({d.between(1, 12)}) | cohort::scale{.factor = 0}
              | embedding{.vocabulary = words, .width = width, .name = "words"} | tanh_activation{}
              | dense{.units = width} | tanh_activation{}
              | dense{.units = words, .bias = false, .settings = {.shares = "words"}}
              | softmax_cross_entropy{.ignore_index = -1};
     }},
    {"sequence_18_layers_with_channels_without_norms",
     [](builder& net, draw& d) {
       int const length = d.between(2, 9), width = d.between(2, 19);
       tensor const x = net.input({length, 3}) | dense{.units = width} | prelu{};
       tensor const y = concat(x, x | cohort::scale{.factor = 0.5, .learned = true} | softmax{});
       return y | subset{.first = 1, .last = width + 1} | spatial_dropout{} | flatten{};
     }},
    {"sequence_19_pools_of_all_steps",
     [](builder& net, draw& d) {
       tensor const x = net.input({d.between(1, 9), 3}) | dense{.units = d.between(1, 9)};
       return concat(x | global_avg_pool{}, x | global_max_pool{});
     }},
    {"sequence_20_ignored_targets_with_a_mask_without_a_norm",
     [](builder& net, draw& d) {
       return masked_sequence(net, d.between(2, 19), d.between(1, 9)) | tanh_activation{}
              | softmax_cross_entropy{.sum_steps = d.between(0, 1) == 1, .ignore_index = 0};
     }},
    {"sequence_21_padding_marked_by_a_value",
     [](builder& net, draw& d) {
       tensor const x = net.padded_input({d.between(1, 9), 3}, 0.5) | dense{.units = d.between(1, 9)};
       return concat(x | global_avg_pool{}, x | global_max_pool{});
     }},
};

}  // namespace operations
