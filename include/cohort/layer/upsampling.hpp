// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/layer/detail/sliding_window.hpp>
#include <cohort/layer/kind.hpp>
#include <cstddef>

namespace cohort {

/// Nearest-neighbour upsampling: repeats each element. upsampling{.factor = 2}, or {.factor = {rows,
/// columns}}.
///
/// Shapes    input C×H×W → output C×(rows·H)×(columns·W).
struct upsampling {
  static constexpr std::string_view kind_name = "upsampling";

  required<extent2, "factor"> factor;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{field{"factor", &upsampling::factor}}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    extent2 const by = factor;
    if (inputs[0].rank != 3)
      return {"upsampling needs an input of channels x height x width", {"input", inputs[0]}};
    if (by.height < 1 || by.width < 1)
      return {"the factor must be at least 1", {"factor", {by.height, by.width}}};
    std::int64_t const height = std::int64_t{inputs[0][1]} * by.height,
                       width = std::int64_t{inputs[0][2]} * by.width;
    if (height > detail::largest_extent || width > detail::largest_extent)
      return {"an extent of the output is more than 2^30",
              {"input", inputs[0]},
              {"factor", {by.height, by.width}}};
    return shape{inputs[0][0], static_cast<int>(height), static_cast<int>(width)};
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    extent2 const by = factor;
    each_row(a, [&](std::size_t from, std::size_t to, std::size_t width, std::size_t output_width) {
      T* const row = a.output + to;
      for (std::size_t x = 0; x < width; ++x)
        std::fill_n(row + x * by.width, by.width, a.inputs[0][from + x]);
      for (int copy = 1; copy < by.height; ++copy) std::copy_n(row, output_width, row + copy * output_width);
    });
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    extent2 const by = factor;
    if (!a.diff_inputs[0]) return;
    each_row(a, [&](std::size_t to, std::size_t from, std::size_t width, std::size_t output_width) {
      for (std::size_t x = 0; x < width; ++x) {
        T sum = 0;
        for (int v = 0; v < by.height; ++v)
          for (int h = 0; h < by.width; ++h) sum += a.diff_output[from + v * output_width + x * by.width + h];
        a.diff_inputs[0][to + x] = sum;
      }
    });
  }

 private:
  /// Calls visit(offset of an input row, offset of the first of its output rows, input width, output width).
  template <class T, class Visit>
  void each_row(host_arguments<T> const& a, Visit visit) const {
    shape const& in = a.input_shapes[0];
    auto const width = static_cast<std::size_t>(in[2]),
               output_width = static_cast<std::size_t>(a.output_shape[2]);
    auto const rows = static_cast<std::size_t>(a.batch) * static_cast<std::size_t>(in[0] * in[1]);
    auto const height = static_cast<std::size_t>(factor.value.height);
    for (std::size_t row = 0; row < rows; ++row)
      visit(row * width, row * height * output_width, width, output_width);
  }
};

extern template struct detail::host_kernels<upsampling>;

}  // namespace cohort
