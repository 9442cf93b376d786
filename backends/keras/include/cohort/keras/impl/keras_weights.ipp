// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/keras/detail/keras_weights.hpp>

namespace cohort::detail {

COHORT_KERAS_INLINE std::vector<float> permute_axes(std::vector<float> const& from,
                                                    std::vector<int> const& dims,
                                                    std::vector<int> const& axes) {
  std::vector<std::size_t> stride(dims.size(), 1), extent(dims.size()), step(dims.size());
  for (std::size_t axis = dims.size(); axis-- > 1;)
    stride[axis - 1] = stride[axis] * static_cast<std::size_t>(dims[axis]);
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    extent[axis] = static_cast<std::size_t>(dims[static_cast<std::size_t>(axes[axis])]);
    step[axis] = stride[static_cast<std::size_t>(axes[axis])];
  }
  std::vector<float> made;
  made.reserve(from.size());
  std::vector<std::size_t> at(dims.size(), 0);
  std::size_t source = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    made.push_back(from[source]);
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      source += step[axis];
      if (++at[axis] < extent[axis]) break;
      source -= step[axis] * extent[axis];
      at[axis] = 0;
    }
  }
  return made;
}

}  // namespace cohort::detail
