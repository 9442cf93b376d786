// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/layer/detail/sliding_window.hpp>

namespace cohort {

/// Average pooling: the mean of the elements in each window, per channel. Padding is excluded from both the
/// sum and the count.
///
/// Shapes    input C×H×W → output C×H'×W' with H' = floor((H + top + bottom − window)/stride) + 1, and
///           likewise W' with left and right. The default stride is the window size.
struct avg_pool {
  static constexpr std::string_view kind_name = "avg_pool";

  required<extent2, "window"> window;
  extent2 stride = 0;
  cohort::padding padding = {};
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"window", &avg_pool::window}, field{"stride", &avg_pool::stride},
                      field{"padding", &avg_pool::padding}};
  }

  /// The window with the effective stride.
  constexpr detail::sliding_window moving() const {
    extent2 const size = window;
    return {size, stride == extent2(0) ? size : stride, 1, padding};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    return detail::slide(moving(), inputs[0], inputs[0].rank > 0 ? inputs[0][0] : 0);
  }
  constexpr double flops(std::span<shape const> inputs) const {
    extent2 const size = window;
    return static_cast<double>(infer(inputs).output.elements()) * size.height * size.width;
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    each_window(a, [&](std::size_t o, auto const& each_element, int count) {
      T sum = 0;
      each_element([&](std::size_t i) { sum += a.inputs[0][i]; });
      a.output[o] = sum / static_cast<T>(count);
    });
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    if (!a.diff_inputs[0]) return;
    std::fill_n(a.diff_inputs[0], a.elements_of_input(), T(0));
    each_window(a, [&](std::size_t o, auto const& each_element, int count) {
      T const gradient = a.diff_output[o] / static_cast<T>(count);
      each_element([&](std::size_t i) { a.diff_inputs[0][i] += gradient; });
    });
  }

 private:
  /// Calls visit(output element, each_element, count): each_element(f) calls f for each of the `count` input
  /// elements in the window, without padding.
  template <class T, class Visit>
  void each_window(host_arguments<T> const& a, Visit visit) const {
    detail::sliding_window const w = moving();
    shape const in = a.input_shapes[0], out = a.output_shape;
    int const top = detail::vertical_border(w, in[1]).before,
              left = detail::horizontal_border(w, in[2]).before;
    std::size_t o = 0;
    for (std::size_t plane = 0; o < a.elements_of_output(); ++plane)
      for (int p = 0; p < out[1]; ++p)
        for (int q = 0; q < out[2]; ++q, ++o) {
          int const above = p * w.stride.height - top, before = q * w.stride.width - left;
          int const first = std::max(above, 0), last = std::min(above + w.size.height, in[1]);
          int const begin = std::max(before, 0), end = std::min(before + w.size.width, in[2]);
          auto const each_element = [&](auto f) {
            for (int h = first; h < last; ++h) {
              std::size_t const row = (plane * std::size_t(in[1]) + std::size_t(h)) * std::size_t(in[2]);
              for (int v = begin; v < end; ++v) f(row + std::size_t(v));
            }
          };
          visit(o, each_element, (last - first) * (end - begin));
        }
  }
};

extern template struct detail::host_kernels<avg_pool>;

}  // namespace cohort
