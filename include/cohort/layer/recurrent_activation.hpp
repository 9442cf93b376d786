// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace cohort {

/// Functions of a recurrent layer's gates and state, as in the layers with the same names. `hard_sigmoid` is
/// 0.2·x + 0.5, limited to [0, 1].
enum class recurrent_activation : std::uint8_t { tanh, sigmoid, hard_sigmoid, hard_tanh, relu, identity };

namespace detail {

inline constexpr std::array<std::string_view, 6> recurrent_activation_names{
    "tanh", "sigmoid", "hard_sigmoid", "hard_tanh", "relu", "identity"};

}  // namespace detail

/// Names in files, in the order of the values.
constexpr std::span<std::string_view const> names_of(recurrent_activation) {
  return detail::recurrent_activation_names;
}

}  // namespace cohort
