// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/layer/activation.hpp>
#include <cohort/layer/join.hpp>
#include <cstddef>

namespace cohort::detail {

constexpr double slope_of(relu const&) { return 0; }
constexpr double slope_of(leaky_relu const& l) { return l.slope; }

template <class L>
concept rectifier = requires(L const& l) {
  slope_of(l);
};

template <rectifier L, class T>
void reference_forward(L const& l, host_arguments<T> const& a) {
  T const slope = static_cast<T>(slope_of(l));
  for (std::size_t i = 0; i < a.elements_of_output(); ++i) {
    T const x = a.inputs[0][i];
    a.output[i] = x > 0 ? x : x < 0 && slope == 0 ? T(0) : x * slope;  // −∞·0 would be NaN
  }
}

template <rectifier L, class T>
void reference_backward(L const& l, host_arguments<T> const& a) {
  if (!a.diff_inputs[0]) return;
  T const slope = static_cast<T>(slope_of(l));
  for (std::size_t i = 0; i < a.elements_of_output(); ++i)
    a.diff_inputs[0][i] = a.output[i] > 0 ? a.diff_output[i] : a.diff_output[i] * slope;
}

/// Calls visit(index of the input, offset in this input, offset in the output, number of elements) for each
/// contiguous block that a concatenation copies.
template <class T, class Visit>
void each_piece(host_arguments<T> const& a, Visit visit) {
  std::size_t out = 0;
  bool const sequence = a.output_shape.rank == 2;
  std::size_t const rows =
      static_cast<std::size_t>(a.batch) * static_cast<std::size_t>(sequence ? a.output_shape[0] : 1);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t x = 0; x < a.input_shapes.size(); ++x) {
      shape const& input = a.input_shapes[x];
      std::size_t const size = static_cast<std::size_t>(sequence ? input[1] : input.elements());
      visit(x, row * size, out, size);
      out += size;
    }
}

template <class T>
void reference_forward(concatenate const&, host_arguments<T> const& a) {
  each_piece(a, [&](std::size_t x, std::size_t from, std::size_t to, std::size_t size) {
    std::copy_n(a.inputs[x] + from, size, a.output + to);
  });
}

template <class T>
void reference_backward(concatenate const&, host_arguments<T> const& a) {
  each_piece(a, [&](std::size_t x, std::size_t from, std::size_t to, std::size_t size) {
    if (a.diff_inputs[x]) std::copy_n(a.diff_output + to, size, a.diff_inputs[x] + from);
  });
}

}  // namespace cohort::detail
