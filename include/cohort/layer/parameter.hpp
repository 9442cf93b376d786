// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/layer/initialiser.hpp>
#include <cohort/optimizer/optimizer.hpp>
#include <cohort/tensor/shape.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cohort {

/// One parameter tensor of a layer, as the layer declares it.
///
/// Shapes    canonical and dense: convolution K×C×R×S, dense U×inputs, bias K or U.
/// Units     fan_in, fan_out: connections into and out of one unit, for the initialisers.
/// Order     `initial` is what the kind itself asks for; a node's settings go before it, the network's after.
struct parameter_spec {
  std::string_view name;
  shape dims{};
  parameter_role role = parameter_role::weights;
  int fan_in = 0;
  int fan_out = 0;
  std::optional<initialiser> initial{};
  double kept = 0;  ///< of running statistics: the share that a step leaves
};

/// A layer's parameter tensors, in the order of files and of the flat view. Room for four.
struct parameter_list {
  std::array<parameter_spec, 4> specs{};
  int count = 0;
  constexpr void add(parameter_spec spec) { specs[static_cast<std::size_t>(count++)] = spec; }
  constexpr parameter_spec const* begin() const { return specs.data(); }
  constexpr parameter_spec const* end() const { return specs.data() + count; }
};

/// What any layer with parameters may set otherwise than its network. Unset: the network's.
///
/// `shares`   the name given to a layer before, whose parameters this one uses too (tied weights): as many, of the same
///            shapes. They are that layer's, in files and in settings by name, and trained by the sum of both gradients.
struct layer_settings {
  std::optional<initialiser> weights{};
  std::optional<initialiser> bias{};
  std::string_view shares{};
  constexpr bool operator==(layer_settings const&) const = default;
};

}  // namespace cohort
