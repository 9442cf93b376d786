// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/kind.hpp>
#include <vector>

namespace cohort::detail {

/// Returns an extent2 as the values of a layer's field.
inline std::vector<double> encoded_extent(extent2 const& e) {
  return {static_cast<double>(e.height), static_cast<double>(e.width)};
}
/// Returns the padding of four sides as the values of a layer's field.
inline std::vector<double> encoded_padding(padding const& p) {
  if (p.top == 0 && p.bottom == 0 && p.left == 0 && p.right == 0) return {0, 0, 0, 0, 0};
  return {static_cast<double>(padding_mode::sides), static_cast<double>(p.top), static_cast<double>(p.bottom),
          static_cast<double>(p.left), static_cast<double>(p.right)};
}

}  // namespace cohort::detail
