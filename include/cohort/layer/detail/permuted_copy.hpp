// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cohort/tensor/axis_order.hpp>
#include <cstddef>

namespace cohort::detail {

/// Returns the extents of a tensor whose axes are permuted.
constexpr shape permuted(shape const& from, axis_order const& order) {
  shape to;
  for (int axis = 0; axis < order.rank; ++axis) to[to.rank++] = from[order[axis]];
  return to;
}

/// Returns the order that undoes `order`.
constexpr axis_order inverse(axis_order const& order) {
  axis_order back = order;
  for (int axis = 0; axis < order.rank; ++axis) back[order[axis]] = axis;
  return back;
}

/// to ← from with permuted axes, for each example. Both are row-major; `extents`: extents of `from`.
///
/// Cost      allocates nothing. Axes that remain neighbours in the same order are merged, so that runs of
///           elements are copied where possible.
template <class T>
void copy_permuted(T const* from, T* to, int batch, shape const& extents, axis_order const& order) {
  std::array<std::size_t, shape::max_rank> strides{}, counts{}, steps{};
  std::size_t size = 1;
  for (int axis = extents.rank - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = size;
    size *= static_cast<std::size_t>(extents[axis]);
  }
  std::size_t rank = 0;  // merged axes of the result, from the outermost
  for (int axis = 0; axis < order.rank; ++axis) {
    auto const source = static_cast<std::size_t>(order[axis]);
    auto const count = static_cast<std::size_t>(extents[order[axis]]);
    if (count == 1) continue;
    if (rank > 0 && steps[rank - 1] == strides[source] * count)
      counts[rank - 1] *= count, steps[rank - 1] = strides[source];
    else
      counts[rank] = count, steps[rank++] = strides[source];
  }
  if (rank == 0) counts[0] = steps[0] = rank = 1;
  std::size_t const run = counts[rank - 1], step = steps[rank - 1];
  std::array<std::size_t, shape::max_rank> index{};
  for (T const* const end = from + static_cast<std::size_t>(batch) * size; from != end; from += size) {
    T const* source = from;
    for (std::size_t copied = 0; copied < size; copied += run, to += run) {
      if (step == 1)
        std::copy_n(source, run, to);
      else
        for (std::size_t i = 0; i < run; ++i) to[i] = source[i * step];
      for (std::size_t axis = rank - 1; axis-- > 0;) {
        source += steps[axis];
        if (++index[axis] < counts[axis]) break;
        source -= steps[axis] * counts[axis];
        index[axis] = 0;
      }
    }
  }
}

}  // namespace cohort::detail
