// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/layer/dense.hpp>
#include <cstddef>

namespace cohort::detail {

template <class T>
void reference_forward(dense const& l, host_arguments<T> const& a) {
  std::size_t const n = static_cast<std::size_t>(dense::width(a.input_shapes[0])),
                    units = static_cast<std::size_t>(l.units.value), rows = a.elements_of_input() / n;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t u = 0; u < units; ++u) {
      T sum = l.bias ? a.parameters[1][u] : T(0);
      for (std::size_t i = 0; i < n; ++i) sum += a.inputs[0][row * n + i] * a.parameters[0][u * n + i];
      a.output[row * units + u] = sum;
    }
}

template <class T>
void reference_backward(dense const& l, host_arguments<T> const& a) {
  std::size_t const n = static_cast<std::size_t>(dense::width(a.input_shapes[0])),
                    units = static_cast<std::size_t>(l.units.value), rows = a.elements_of_input() / n;
  std::fill_n(a.diff_parameters[0], units * n, T(0));
  if (l.bias) std::fill_n(a.diff_parameters[1], units, T(0));
  if (a.diff_inputs[0]) std::fill_n(a.diff_inputs[0], rows * n, T(0));
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t u = 0; u < units; ++u) {
      T const diff = a.diff_output[row * units + u];
      if (l.bias) a.diff_parameters[1][u] += diff;
      for (std::size_t i = 0; i < n; ++i) a.diff_parameters[0][u * n + i] += diff * a.inputs[0][row * n + i];
      if (!a.diff_inputs[0]) continue;
      for (std::size_t i = 0; i < n; ++i) a.diff_inputs[0][row * n + i] += diff * a.parameters[0][u * n + i];
    }
}

}  // namespace cohort::detail
