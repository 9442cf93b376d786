// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cohort/layer/kind.hpp>
#include <cohort/layer/upsampling.hpp>
#include <cstddef>

namespace cohort {

/// Bilinear upsampling by whole factors: bilinear_upsampling{.factor = 2}, or {.factor = {rows, columns}}.
/// Each element is a weighted mean of the four nearest elements of the input.
///
/// Shapes      input C×H×W → output C×(rows·H)×(columns·W).
/// Parameters  `align_corners`: false: elements are areas of equal size, as in Keras and PyTorch;
///             true: the first and last elements of an axis are the same points in input and output.
/// Exact       beyond the border, the nearest elements of the input are repeated.
struct bilinear_upsampling {
  static constexpr std::string_view kind_name = "bilinear_upsampling";

  required<extent2, "factor"> factor;
  bool align_corners = false;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"factor", &bilinear_upsampling::factor},
                      field{"align_corners", &bilinear_upsampling::align_corners}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    return upsampling{.factor = factor.value}.infer(inputs);
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return 9.0 * static_cast<double>(infer(inputs).output.elements());
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    each_part<T>(a, [&](row_pair<T> const& row, std::size_t to, columns<T> const& part) {
      T const *const above = a.inputs[0] + row.above, *const below = a.inputs[0] + row.below;
      for (std::size_t i = 0; i < part.count; ++i) {
        T const left = above[part.left[i]] + row.weight * (below[part.left[i]] - above[part.left[i]]);
        T const right = above[part.right[i]] + row.weight * (below[part.right[i]] - above[part.right[i]]);
        a.output[to + i] = left + part.weight[i] * (right - left);
      }
    });
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    if (!a.diff_inputs[0]) return;
    std::fill_n(a.diff_inputs[0], a.elements_of_input(), T(0));
    each_part<T>(a, [&](row_pair<T> const& row, std::size_t from, columns<T> const& part) {
      T *const above = a.diff_inputs[0] + row.above, *const below = a.diff_inputs[0] + row.below;
      for (std::size_t i = 0; i < part.count; ++i) {
        T const right = a.diff_output[from + i] * part.weight[i], left = a.diff_output[from + i] - right;
        above[part.left[i]] += left - row.weight * left;
        above[part.right[i]] += right - row.weight * right;
        below[part.left[i]] += row.weight * left;
        below[part.right[i]] += row.weight * right;
      }
    });
  }

 private:
  /// Two neighbouring rows of the input: the offsets of their first elements; the weight of the lower row.
  template <class T>
  struct row_pair {
    std::size_t above, below;
    T weight;
  };
  /// For each of `count` neighbouring output columns: the left and the right input column that it reads, and
  /// the weight of the right one.
  template <class T>
  struct columns {
    static constexpr std::size_t most = 128;
    std::size_t count = 0;
    std::array<std::size_t, most> left, right;
    std::array<T, most> weight;
  };
  /// An element of an axis of the output: (1 − weight)·input[first] + weight·input[second].
  struct between {
    std::size_t first, second;
    double weight;
  };

  between between_of(int to, int extent, int by) const {
    double const last = extent - 1;
    double place = 0;
    if (!align_corners)
      place = std::clamp((to + 0.5) / by - 0.5, 0.0, last);
    else if (extent > 1)
      place = to * last / (static_cast<double>(extent) * by - 1);
    auto const first = static_cast<std::size_t>(place);
    return {first, std::min(first + 1, static_cast<std::size_t>(extent - 1)),
            place - static_cast<double>(first)};
  }
  /// Calls visit(rows, offset in the output, columns) for each row of the output, in parts of up to
  /// columns::most elements.
  template <class T, class Visit>
  void each_part(host_arguments<T> const& a, Visit visit) const {
    shape const &in = a.input_shapes[0], &out = a.output_shape;
    auto const in_height = static_cast<std::size_t>(in[1]), in_width = static_cast<std::size_t>(in[2]),
               out_height = static_cast<std::size_t>(out[1]), out_width = static_cast<std::size_t>(out[2]);
    std::size_t const images = static_cast<std::size_t>(a.batch) * static_cast<std::size_t>(in[0]);
    columns<T> part;
    for (std::size_t begin = 0; begin < out_width; begin += columns<T>::most) {
      part.count = std::min(columns<T>::most, out_width - begin);
      for (std::size_t i = 0; i < part.count; ++i) {
        between const x = between_of(static_cast<int>(begin + i), in[2], factor.value.width);
        part.left[i] = x.first, part.right[i] = x.second, part.weight[i] = static_cast<T>(x.weight);
      }
      for (std::size_t image = 0; image < images; ++image)
        for (std::size_t row = 0; row < out_height; ++row) {
          between const y = between_of(static_cast<int>(row), in[1], factor.value.height);
          std::size_t const above = image * in_height;
          visit(row_pair<T>{(above + y.first) * in_width, (above + y.second) * in_width,
                            static_cast<T>(y.weight)},
                (image * out_height + row) * out_width + begin, part);
        }
    }
  }
};

extern template struct detail::host_kernels<bilinear_upsampling>;

}  // namespace cohort
