// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/layer/host_kernel.hpp>
#include <cstdint>

namespace cohort::detail {

/// Returns whether a tensor with these extents has `elements` elements.
///
/// Before    every extent is at least 1. The product of the extents of an untrusted file may exceed 64 bits.
constexpr bool has_elements(shape const& extents, std::int64_t elements) {
  for (int axis = 0; axis < extents.rank; ++axis)
    elements = elements % extents[axis] == 0 ? elements / extents[axis] : 0;
  return elements == 1;
}

/// output ← input, for layers that do not change values. Does nothing if both share one array.
template <class T>
void copy_forward(host_arguments<T> const& a) {
  if (a.output != a.inputs[0]) std::copy_n(a.inputs[0], a.elements_of_output(), a.output);
}
/// diff_input ← diff_output. Does nothing if both share one array or no gradient is needed.
template <class T>
void copy_backward(host_arguments<T> const& a) {
  if (a.diff_inputs[0] && a.diff_inputs[0] != a.diff_output)
    std::copy_n(a.diff_output, a.elements_of_output(), a.diff_inputs[0]);
}

}  // namespace cohort::detail
