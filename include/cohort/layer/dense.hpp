// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/kind.hpp>

namespace cohort {

/// Fully connected layer: y = weights·x + bias, with x the flattened input, or each step of a sequence.
///
/// Shapes    input of n elements (row-major) → output U; weights U×n, bias U. Sequence T×C → output T×U;
///           weights U×C; put `flatten` before the layer to get output U.
struct dense {
  static constexpr std::string_view kind_name = "dense";
  static constexpr mask_use masks = mask_use::passes;
  static constexpr bool takes_channel_maps = true;

  required<int, "units"> units;
  bool bias = true;
  layer_settings settings = {};
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"units", &dense::units}, field{"bias", &dense::bias}};
  }

  constexpr inference infer(std::span<shape const> inputs) const {
    if (units < 1) return {"a dense layer needs at least one unit", labelled_number("units", units)};
    return inputs[0].rank == 2 ? shape{inputs[0][0], units.value} : shape{units.value};
  }

  /// Number of input elements that one output reads: the elements of a step of a sequence, or all elements.
  static constexpr int width(shape const& input) {
    return input.rank == 2 ? input[1] : static_cast<int>(input.elements());
  }

  constexpr parameter_list parameters(std::span<shape const> inputs) const {
    int const n = width(inputs[0]);
    parameter_list list;
    list.add({"weights", {units.value, n}, parameter_role::weights, n, units});
    if (bias) list.add({"bias", {units.value}, parameter_role::biases, n, units});
    return list;
  }

  constexpr double flops(std::span<shape const> inputs) const {
    return 2.0 * static_cast<double>(inputs[0].elements()) * units;
  }
};

}  // namespace cohort
