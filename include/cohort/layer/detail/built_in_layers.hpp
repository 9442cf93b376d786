// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/layer/layers.hpp>
#include <concepts>
#include <iterator>
#include <string_view>

namespace cohort::detail {

template <layer... L>
struct layer_list {
  template <class Other>
  static constexpr bool contains = (std::same_as<Other, L> || ...);
  /// Returns whether a layer of the list has this kind name.
  static constexpr bool has_kind_name(std::string_view name) { return ((L::kind_name == name) || ...); }
};

/// The built-in layers, in the order of the documentation.
// clang-format off
using built_in_layers = layer_list<
    input, conv2d, max_pool, dense,
    relu, leaky_relu, add, concatenate,
    softmax_cross_entropy, kullback_leibler, binary_cross_entropy, mean_squared_error,
    mean_absolute_error, huber, hinge, relu6,
    prelu, elu, selu, sigmoid,
    hard_sigmoid, tanh_activation, hard_tanh, softplus,
    softsign, swish, gelu, gelu_tanh, mish,
    identity_activation, softmax, log_softmax, multiply,
    average, maximum, subset, scale,
    zero_padding, cropping, upsampling, bilinear_upsampling,
    reshape, permute, flatten, embedding,
    dropout, spatial_dropout, gaussian_noise, conv1d,
    conv2d_transposed, avg_pool, global_avg_pool, global_max_pool,
    lrn, batch_norm, layer_norm, group_norm,
    synchronised_batch_norm, matmul, masked_input, padded_input, zero_masked,
    dice>;
// clang-format on

/// The kind names of the layers on demand: built-in layers that cohort.hpp does not include. To build a
/// network with such a layer, a program includes the layer's header. Loading model files does not need the
/// header.
inline constexpr std::string_view kinds_on_demand[]{
    "simple_rnn",          "lstm", "gru", "recurrent_output", "attention", "rms_norm", "learned_positions",
    "sinusoidal_positions"};

template <class L>
inline constexpr bool is_built_in = built_in_layers::contains<L> || is_on_demand_layer<L>;
/// Returns whether a built-in layer has this kind name.
constexpr bool is_built_in_name(std::string_view name) {
  // std::ranges::find is not used, because it costs more compile time.
  return built_in_layers::has_kind_name(name)
         || std::find(std::begin(kinds_on_demand), std::end(kinds_on_demand), name)
                != std::end(kinds_on_demand);
}

}  // namespace cohort::detail
