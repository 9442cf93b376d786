// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/tensor/shape.hpp>
#include <concepts>

namespace cohort {

/// Axes in another order: axis a of the result is axis order[a] of the original tensor. Axes are numbered
/// from 0, without the batch. The order has one element per axis.
struct axis_order {
  std::array<int, shape::max_rank> axes{};
  int rank = 0;

  constexpr axis_order() = default;
  template <std::integral... I>
  requires(sizeof...(I) > 0 && sizeof...(I) <= shape::max_rank) constexpr axis_order(I... axis)
      : axes{static_cast<int>(axis)...}, rank(sizeof...(I)) {}

  constexpr int operator[](int axis) const { return axes[axis]; }
  constexpr int& operator[](int axis) { return axes[axis]; }
  constexpr bool operator==(axis_order const&) const = default;
};

}  // namespace cohort
