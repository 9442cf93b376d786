// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/window.hpp>

namespace cohort {

/// The largest element under a moving window, channel by channel; padding never wins.
///
/// Shapes    input C×H×W → output C×H'×W'. A stride that is not given is the window.
/// Exact     of equal elements the first in row-major order takes the gradient.
struct max_pool {
  static constexpr std::string_view kind_name = "max_pool";

  required<extent2> window;
  extent2 stride = 0;
  cohort::padding padding = {};
  std::string_view name{};
  source at = source::here();

  static constexpr auto fields() {
    return std::tuple{field{"window", &max_pool::window}, field{"stride", &max_pool::stride},
                      field{"padding", &max_pool::padding}};
  }

  constexpr cohort::window moving() const {
    extent2 const size = window;
    return {size, stride == extent2(0) ? size : stride, 1, padding};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    return slide(moving(), inputs[0], inputs[0].rank > 0 ? inputs[0][0] : 0);
  }
  constexpr double flops(std::span<shape const> inputs) const {
    extent2 const size = window;
    return static_cast<double>(infer(inputs).output.elements()) * size.height * size.width;
  }
};

}  // namespace cohort
