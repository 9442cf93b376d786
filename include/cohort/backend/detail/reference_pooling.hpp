// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/layer/max_pool.hpp>
#include <cstddef>

namespace cohort::detail {

/// For each window, calls visit(index of the output element, index of the window's first maximum in the
/// input).
template <class T, class Visit>
void each_maximum(max_pool const& l, host_arguments<T> const& a, Visit visit) {
  sliding_window const w = l.moving();
  shape const in = a.input_shapes[0], out = a.output_shape;
  int const top = vertical_border(w, in[1]).before, left = horizontal_border(w, in[2]).before;
  int const planes = a.batch * in[0];
  std::size_t o = 0;
  for (int plane = 0; plane < planes; ++plane)
    for (int p = 0; p < out[1]; ++p)
      for (int q = 0; q < out[2]; ++q, ++o) {
        bool found = false;
        std::size_t largest = 0;
        for (int r = 0; r < w.size.height; ++r)
          for (int s = 0; s < w.size.width; ++s) {
            int const h = p * w.stride.height - top + r, v = q * w.stride.width - left + s;
            if (h < 0 || h >= in[1] || v < 0 || v >= in[2]) continue;
            std::size_t const i = (static_cast<std::size_t>(plane) * in[1] + h) * in[2] + v;
            if (!found || a.inputs[0][i] > a.inputs[0][largest]) largest = i;
            found = true;
          }
        visit(o, largest);
      }
}

template <class T>
void reference_forward(max_pool const& l, host_arguments<T> const& a) {
  each_maximum(l, a, [&](std::size_t o, std::size_t i) { a.output[o] = a.inputs[0][i]; });
}

template <class T>
void reference_backward(max_pool const& l, host_arguments<T> const& a) {
  if (!a.diff_inputs[0]) return;
  std::fill_n(a.diff_inputs[0], a.elements_of_input(), T(0));
  each_maximum(l, a, [&](std::size_t o, std::size_t i) { a.diff_inputs[0][i] += a.diff_output[o]; });
}

}  // namespace cohort::detail
