// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort::detail {

/// Calls visit(i) for each element of an array whose axes are permuted, in row-major order of the result. `i`
/// is the element's row-major index in the original array.
///
/// Shapes    `dims`: extents of the original array. Axis k of the result is axis axes[k] of the original.
template <class Visit>
void visit_permuted(std::span<std::int64_t const> dims, std::span<int const> axes, Visit visit) {
  std::size_t const rank = dims.size();
  std::vector<std::int64_t> strides(rank, 1), steps(rank), extents(rank), index(rank, 0);
  std::int64_t count = 1, place = 0;
  for (std::size_t axis = rank; axis-- > 0; count *= dims[axis]) strides[axis] = count;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    steps[axis] = strides[static_cast<std::size_t>(axes[axis])];
    extents[axis] = dims[static_cast<std::size_t>(axes[axis])];
  }
  for (std::int64_t i = 0; i < count; ++i) {
    visit(place);
    for (std::size_t axis = rank; axis-- > 0;) {
      place += steps[axis];
      if (++index[axis] < extents[axis]) break;
      place -= steps[axis] * extents[axis];
      index[axis] = 0;
    }
  }
}

/// Returns an array with its axes permuted, in the order of visit_permuted.
std::vector<float> permute_axes(std::span<float const> from, std::vector<std::int64_t> const& dims,
                                std::vector<int> const& axes);

/// Returns an array with its blocks in another order: block k of the result is block order[k] of `from`.
///
/// Before    the blocks have equal sizes.
std::vector<float> reorder_blocks(std::span<float const> from, std::vector<std::size_t> const& order);

}  // namespace cohort::detail
