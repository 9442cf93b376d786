// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/detail/build_check.hpp>
#include <concepts>
#include <cstdint>
#include <string>

namespace cohort {

/// Extents of a tensor, outermost first, without the batch dimension. An image is channels × height × width.
///
/// Shapes    at most `max_rank` extents; rank 0 is a scalar with one element.
struct shape {
  static constexpr int max_rank = 6;

  std::array<int, max_rank> extents{};
  int rank = 0;

  constexpr shape() = default;
  template <std::integral... I>
  requires(sizeof...(I) > 0 && sizeof...(I) <= max_rank) constexpr shape(I... extent)
      : extents{static_cast<int>(extent)...}, rank(sizeof...(I)) {}

  constexpr int operator[](int axis) const { return extents[axis]; }
  constexpr int& operator[](int axis) { return extents[axis]; }
  constexpr bool operator==(shape const&) const = default;

  /// Returns the number of elements: the product of the extents.
  constexpr std::int64_t elements() const {
    std::int64_t product = 1;
    for (int axis = 0; axis < rank; ++axis) product *= extents[axis];
    return product;
  }

  /// Returns the shape of a batch of `count` examples: count × extents.  Before: rank < max_rank.
  constexpr shape batched(int count) const {
    shape result;
    result.rank = rank + 1;
    result.extents[0] = count;
    for (int axis = 0; axis < rank; ++axis) result.extents[axis + 1] = extents[axis];
    return result;
  }

  /// Returns the shape of one example of a batch: all extents except the first.  Before: rank > 0.
  constexpr shape example() const {
    shape result;
    result.rank = rank - 1;
    for (int axis = 1; axis < rank; ++axis) result.extents[axis - 1] = extents[axis];
    return result;
  }
};

/// Returns the axis of the channels: the last axis of a sequence T×C, otherwise the first axis, as in C×H×W.
///
/// Shapes    `s` excludes the batch and has at least one extent.
constexpr int channel_axis(shape const& s) { return s.rank == 2 ? 1 : 0; }

/// Returns the number of channels: the extent of channel_axis.
constexpr int channels_of(shape const& s) { return s[channel_axis(s)]; }

/// Returns the extents as text: "20x24x24", or "scalar" for rank 0.
inline std::string to_string(shape const& s) {
  std::string text;
  for (int axis = 0; axis < s.rank; ++axis) {
    if (axis > 0) text += 'x';
    text += std::to_string(s[axis]);
  }
  return s.rank == 0 ? "scalar" : text;
}

}  // namespace cohort
