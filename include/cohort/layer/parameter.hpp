// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/layer/initialiser.hpp>
#include <cohort/optimizer/optimizer.hpp>
#include <cohort/tensor/shape.hpp>
#include <optional>
#include <string_view>

namespace cohort {

/// Elements of a parameter that start at `value` instead of the initialiser's values: `count` elements from
/// index `first`, in row-major order.
struct initial_part {
  int first = 0;
  int count = 0;
  double value = 0;
};

/// Declaration of one parameter tensor of a layer.
///
/// Shapes    `dims`: packed, in canonical layout: convolution K×C×R×S, dense U×inputs, bias K or U.
/// Units     fan_in, fan_out: connections into and out of one unit, for the initialisers.
/// Order     the initialiser in the layer's settings has priority, then `initial`, then the network's
///           initialiser. If `recurrent` is true, layer_settings::recurrent replaces layer_settings::weights.
///           After the initialiser, the elements of `part` are set.
struct parameter_spec {
  std::string_view name;
  shape dims{};
  parameter_role role = parameter_role::weights;
  int fan_in = 0;
  int fan_out = 0;
  std::optional<initialiser> initial{};
  double momentum = 0;  ///< running statistics only: weight of the old value in an update
  bool recurrent = false;
  initial_part part{};
};

/// Parameter tensors of a layer, at most four, in the order of files and of the flat view.
struct parameter_list {
  std::array<parameter_spec, 4> specs{};
  int count = 0;
  constexpr void add(parameter_spec spec) { specs[static_cast<std::size_t>(count++)] = spec; }
  constexpr parameter_spec const* begin() const { return specs.data(); }
  constexpr parameter_spec const* end() const { return specs.data() + count; }
};

/// Settings of a layer with parameters. parameter_spec describes which initialiser replaces an unset one.
///
/// `shares`: for tied weights, the name of an earlier layer, whose parameters this layer uses. The name must
/// be one that the program has set. Both layers need the same number of parameters, with the same shapes. In
/// files and in settings by name, the parameters belong to the earlier layer. Their gradient is the sum over
/// both layers.
struct layer_settings {
  std::optional<initialiser> weights{};  ///< initialises parameters with role weights
  std::optional<initialiser> bias{};     ///< initialises parameters with role biases
  std::string_view shares{};
  std::optional<initialiser> recurrent{};  ///< initialises the recurrent weights of a recurrent layer
  constexpr bool operator==(layer_settings const&) const = default;
};

}  // namespace cohort
