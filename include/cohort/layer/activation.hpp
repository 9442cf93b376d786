// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/kind.hpp>

namespace cohort {

/// max(x, 0). The derivative at 0 is 0.
///
/// Shapes    any; the output has the shape of the input.
struct relu {
  static constexpr std::string_view kind_name = "relu";
  static constexpr mask_use masks = mask_use::passes;
  static constexpr bool in_place = true;

  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const { return inputs[0]; }
  constexpr double flops(std::span<shape const> inputs) const {
    return static_cast<double>(inputs[0].elements());
  }
};

/// x if x > 0, else slope·x, with 0 ≤ slope < 1.
///
/// Shapes    any; the output has the shape of the input.
struct leaky_relu {
  static constexpr std::string_view kind_name = "leaky_relu";
  static constexpr mask_use masks = mask_use::passes;
  static constexpr bool in_place = true;

  double slope = 0.01;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{field{"slope", &leaky_relu::slope}}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (!(slope >= 0 && slope < 1)) return {"the slope of a leaky relu must be in [0, 1)"};
    return inputs[0];
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return static_cast<double>(inputs[0].elements());
  }
};

}  // namespace cohort
