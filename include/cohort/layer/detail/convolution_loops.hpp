// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/layer/detail/sliding_window.hpp>
#include <cstddef>

namespace cohort::detail {

/// One row of products with the same weight: `count` adjacent elements of the map and `count` elements of the
/// image, at the distance of the stride.
struct product_row {
  std::size_t map;     ///< first element in the map
  std::size_t image;   ///< first element in the image
  std::size_t weight;  ///< index of the weight
  int count;
};

/// Loops of a convolution between an image C×H×W and a map K×P×Q. A convolution reads the image and writes
/// the map; a transposed convolution reads the map and writes the image.
///
/// Shapes    weights, for both kinds of convolution: channels of the layer's output × channels of its input
///           per group × R×S.
/// Exact     sums have a fixed order (channels and taps, or examples and rows): the same bits in every run.
struct convolution_loops {
  shape image;
  shape map;
  detail::sliding_window window;
  int groups = 1;
  bool transposed = false;

  /// Calls visit(product_row) for all products of the batch; products with padding are skipped.
  template <class Visit>
  void each_row(int batch, Visit visit) const {
    int const channels = image[0] / groups, filters = map[0] / groups;
    int const taps = window.size.height * window.size.width;
    int const top = vertical_border(window, image[1]).before,
              left = horizontal_border(window, image[2]).before;
    for (int n = 0; n < batch; ++n)
      for (int k = 0; k < map[0]; ++k)
        for (int c = k / filters * channels; c < (k / filters + 1) * channels; ++c)
          for (int tap = 0; tap < taps; ++tap) {
            int const above = top - tap / window.size.width * window.dilation.height,
                      before = left - tap % window.size.width * window.dilation.width;
            int const first = before > 0 ? (before + window.stride.width - 1) / window.stride.width : 0;
            int const reach = image[2] - 1 + before;
            int const last = std::min(map[2], reach < 0 ? 0 : reach / window.stride.width + 1);
            if (first >= last) continue;
            std::size_t const weight =
                static_cast<std::size_t>(transposed ? c * filters + k % filters : k * channels + c % channels)
                    * static_cast<std::size_t>(taps)
                + static_cast<std::size_t>(tap);
            for (int p = 0; p < map[1]; ++p) {
              int const h = p * window.stride.height - above;
              if (h < 0 || h >= image[1]) continue;
              visit(product_row{
                  at(map, n, k, p) + static_cast<std::size_t>(first),
                  at(image, n, c, h) + static_cast<std::size_t>(first * window.stride.width - before), weight,
                  last - first});
            }
          }
  }

  /// map += weights · image.
  template <class T>
  void gather(int batch, T const* weights, T const* from, T* to) const {
    int const step = window.stride.width;
    each_row(batch, [=](product_row const& r) {
      T const w = weights[r.weight];
      for (int i = 0; i < r.count; ++i)
        to[r.map + std::size_t(i)] += w * from[r.image + std::size_t(i * step)];
    });
  }
  /// image += weights · map.
  template <class T>
  void scatter(int batch, T const* weights, T const* from, T* to) const {
    int const step = window.stride.width;
    each_row(batch, [=](product_row const& r) {
      T const w = weights[r.weight];
      for (int i = 0; i < r.count; ++i)
        to[r.image + std::size_t(i * step)] += w * from[r.map + std::size_t(i)];
    });
  }
  /// weights += map · image.
  template <class T>
  void correlate(int batch, T const* map_values, T const* image_values, T* weights) const {
    int const step = window.stride.width;
    each_row(batch, [=](product_row const& r) {
      T sum = 0;
      for (int i = 0; i < r.count; ++i)
        sum += map_values[r.map + std::size_t(i)] * image_values[r.image + std::size_t(i * step)];
      weights[r.weight] += sum;
    });
  }

  template <class T>
  void forward(host_arguments<T> const& a, bool bias) const {
    std::size_t const area = plane(a.output_shape);
    T* to = a.output;
    for (int n = 0; n < a.batch; ++n)
      for (int k = 0; k < a.output_shape[0]; ++k)
        to = std::fill_n(to, area, bias ? a.parameters[1][k] : T(0));
    transposed ? scatter(a.batch, a.parameters[0], a.inputs[0], a.output)
               : gather(a.batch, a.parameters[0], a.inputs[0], a.output);
  }

  template <class T>
  void backward(host_arguments<T> const& a, bool bias) const {
    shape const& output = a.output_shape;
    std::size_t const weights = static_cast<std::size_t>(output[0])
                                * static_cast<std::size_t>(a.input_shapes[0][0] / groups)
                                * static_cast<std::size_t>(window.size.height * window.size.width);
    std::fill_n(a.diff_parameters[0], weights, T(0));
    transposed ? correlate(a.batch, a.inputs[0], a.diff_output, a.diff_parameters[0])
               : correlate(a.batch, a.diff_output, a.inputs[0], a.diff_parameters[0]);
    if (T* const to = a.diff_inputs[0]) {
      std::fill_n(to, a.elements_of_input(), T(0));
      transposed ? gather(a.batch, a.parameters[0], a.diff_output, to)
                 : scatter(a.batch, a.parameters[0], a.diff_output, to);
    }
    if (!bias) return;
    std::size_t const area = plane(output);
    std::fill_n(a.diff_parameters[1], output[0], T(0));
    for (std::size_t i = 0; i < a.elements_of_output(); ++i)
      a.diff_parameters[1][i / area % static_cast<std::size_t>(output[0])] += a.diff_output[i];
  }

 private:
  static std::size_t plane(shape const& s) { return static_cast<std::size_t>(s.elements() / s[0]); }
  static std::size_t at(shape const& s, int n, int channel, int row) {
    return ((static_cast<std::size_t>(n) * std::size_t(s[0]) + std::size_t(channel)) * std::size_t(s[1])
            + std::size_t(row))
           * std::size_t(s[2]);
  }
};

}  // namespace cohort::detail
