// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/layer/conv2d.hpp>
#include <cstddef>

namespace cohort::detail {

/// Calls visit(output element, input element, weights element) for every product of a convolution.
template <class Visit>
void each_product(conv2d const& l, shape const& input, shape const& output, int batch, Visit visit) {
  window const w = l.window();
  int const C = input[0], H = input[1], W = input[2], K = output[0], P = output[1], Q = output[2];
  int const R = w.size.height, S = w.size.width;
  int const top = vertical_border(w, H).before, left = horizontal_border(w, W).before;
  for (int n = 0; n < batch; ++n)
    for (int k = 0; k < K; ++k)
      for (int p = 0; p < P; ++p)
        for (int q = 0; q < Q; ++q) {
          std::size_t const o = ((static_cast<std::size_t>(n) * K + k) * P + p) * Q + q;
          for (int c = 0; c < C; ++c)
            for (int r = 0; r < R; ++r) {
              int const h = p * w.stride.height - top + r * w.dilation.height;
              if (h < 0 || h >= H) continue;
              for (int s = 0; s < S; ++s) {
                int const v = q * w.stride.width - left + s * w.dilation.width;
                if (v < 0 || v >= W) continue;
                visit(o, ((static_cast<std::size_t>(n) * C + c) * H + h) * W + v,
                      ((static_cast<std::size_t>(k) * C + c) * R + r) * S + s);
              }
            }
        }
}

template <class T>
void reference_forward(conv2d const& l, host_arguments<T> const& a) {
  std::size_t const area = static_cast<std::size_t>(a.output_shape[1]) * a.output_shape[2];
  std::size_t const count = static_cast<std::size_t>(a.batch) * a.output_shape.elements();
  for (std::size_t o = 0; o < count; ++o)
    a.output[o] = l.bias ? a.parameters[1][o / area % a.output_shape[0]] : T(0);
  each_product(l, a.input_shapes[0], a.output_shape, a.batch,
               [&](std::size_t o, std::size_t i, std::size_t w) {
                 a.output[o] += a.inputs[0][i] * a.parameters[0][w];
               });
}

template <class T>
void reference_backward(conv2d const& l, host_arguments<T> const& a) {
  extent2 const k = l.kernel;
  shape const in = a.input_shapes[0], out = a.output_shape;
  T* const diff_weights = a.diff_parameters[0];
  T* const diff_input = a.diff_inputs[0];
  std::fill_n(diff_weights, static_cast<std::size_t>(out[0]) * in[0] * k.height * k.width, T(0));
  if (diff_input) std::fill_n(diff_input, static_cast<std::size_t>(a.batch) * in.elements(), T(0));
  each_product(l, in, out, a.batch, [&](std::size_t o, std::size_t i, std::size_t w) {
    diff_weights[w] += a.inputs[0][i] * a.diff_output[o];
    if (diff_input) diff_input[i] += a.parameters[0][w] * a.diff_output[o];
  });
  if (!l.bias) return;
  std::size_t const area = static_cast<std::size_t>(out[1]) * out[2];
  std::fill_n(a.diff_parameters[1], out[0], T(0));
  for (std::size_t o = 0; o < static_cast<std::size_t>(a.batch) * out.elements(); ++o)
    a.diff_parameters[1][o / area % out[0]] += a.diff_output[o];
}

}  // namespace cohort::detail
