// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/sliding_window.hpp>

namespace cohort {

/// Max pooling: the largest element in each window, per channel. Padding is ignored.
///
/// Shapes    input C×H×W → output C×H'×W' with H' = floor((H + top + bottom − window)/stride) + 1, and
///           likewise W' with left and right. The default stride is the window size.
/// Exact     if a window has several largest elements, the first in row-major order gets the gradient.
struct max_pool {
  static constexpr std::string_view kind_name = "max_pool";

  required<extent2, "window"> window;
  extent2 stride = 0;
  cohort::padding padding = {};
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"window", &max_pool::window}, field{"stride", &max_pool::stride},
                      field{"padding", &max_pool::padding}};
  }

  /// The window with the effective stride.
  constexpr detail::sliding_window moving() const {
    extent2 const size = window;
    return {size, stride == extent2(0) ? size : stride, 1, padding};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    return detail::slide(moving(), inputs[0], inputs[0].rank > 0 ? inputs[0][0] : 0);
  }
  constexpr double flops(std::span<shape const> inputs) const {
    extent2 const size = window;
    return static_cast<double>(infer(inputs).output.elements()) * size.height * size.width;
  }
};

}  // namespace cohort
