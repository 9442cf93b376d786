// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/layer/detail/convolution.hpp>
#include <cstddef>

namespace cohort {

/// One-dimensional convolution over the steps of a sequence.
///
/// Shapes    input T×C → output T'×K; weights K×(C/groups)×R, bias K.
/// Units     explicit padding: padding(n) on both sides, or padding(0, 0, before, after).
/// Order     masked sequences: if the convolution keeps the number of steps (stride 1 and, for example,
///           padding::same), the output has the input's mask, and the layer reads padding as 0. Other
///           convolutions reject a mask.
struct conv1d {
  static constexpr std::string_view kind_name = "conv1d";
  static constexpr bool takes_channel_maps = true;

  required<int, "filters"> filters;
  required<int, "kernel"> kernel;
  int stride = 1;
  cohort::padding padding = {};
  int dilation = 1;
  int groups = 1;
  bool bias = true;
  layer_settings settings = {};
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return detail::convolution_fields<conv1d>(); }

  /// T×C as an image of one row, C×1×T.
  static constexpr shape row(shape const& sequence) { return {sequence[1], 1, sequence[0]}; }
  /// The window of the equivalent conv2d.
  constexpr detail::sliding_window window() const {
    cohort::padding along = padding;
    along.top = along.bottom = 0;
    return {{1, kernel}, {1, stride}, {1, dilation}, along};
  }

  constexpr inference infer(std::span<shape const> inputs) const {
    if (inputs[0].rank != 2) return {"this layer needs a sequence: steps x channels", {"input", inputs[0]}};
    bool const every_side = padding == cohort::padding(padding.left);
    if (padding.mode == padding_mode::sides && !every_side && (padding.top != 0 || padding.bottom != 0))
      return {"a sequence cannot have padding at the top or bottom",
              {"padding", {padding.top, padding.bottom, padding.left, padding.right}}};
    shape const image = row(inputs[0]);
    inference made = detail::grouped(detail::slide(window(), image, filters), image, filters, groups);
    if (!made.problem.found()) made.output = {made.output[2], made.output[0]};
    return made;
  }
  constexpr mask_rule masks(std::span<shape const> inputs) const {
    if (stride != 1 || infer(inputs).output[0] != inputs[0][0])
      return "a convolution of a masked sequence must keep its steps: stride 1 and padding::same";
    return {mask_use::passes, true};
  }

  constexpr parameter_list parameters(std::span<shape const> inputs) const {
    return detail::convolution_parameters(inputs[0][1], filters, groups, {kernel.value}, bias);
  }

  constexpr double flops(std::span<shape const> inputs) const {
    return 2.0 * static_cast<double>(infer(inputs).output.elements()) * (inputs[0][1] / groups) * kernel;
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    auto const filter_count = static_cast<std::size_t>(filters.value);
    for (std::size_t i = 0; i < a.elements_of_output(); ++i)
      a.output[i] = bias ? a.parameters[1][i % filter_count] : T(0);
    each_product(a, [&](std::size_t to, std::size_t from, std::size_t weight) {
      a.output[to] += a.parameters[0][weight] * a.inputs[0][from];
    });
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    auto const filter_count = static_cast<std::size_t>(filters.value);
    std::fill_n(a.diff_parameters[0],
                filter_count * static_cast<std::size_t>(a.input_shapes[0][1] / groups * kernel), T(0));
    if (a.diff_inputs[0]) std::fill_n(a.diff_inputs[0], a.elements_of_input(), T(0));
    each_product(a, [&](std::size_t to, std::size_t from, std::size_t weight) {
      a.diff_parameters[0][weight] += a.diff_output[to] * a.inputs[0][from];
      if (a.diff_inputs[0]) a.diff_inputs[0][from] += a.diff_output[to] * a.parameters[0][weight];
    });
    if (!bias) return;
    std::fill_n(a.diff_parameters[1], filter_count, T(0));
    for (std::size_t i = 0; i < a.elements_of_output(); ++i)
      a.diff_parameters[1][i % filter_count] += a.diff_output[i];
  }

 private:
  /// Calls visit(output element, input element, weight) for each product.
  template <class T, class Visit>
  void each_product(host_arguments<T> const& a, Visit visit) const {
    int const steps = a.input_shapes[0][0], channels = a.input_shapes[0][1], depth = channels / groups;
    int const filters_of_group = filters / groups;
    int const before = detail::horizontal_border(window(), steps).before;
    std::size_t to = 0, first = 0;
    for (int n = 0; n < a.batch; ++n, first += static_cast<std::size_t>(steps * channels))
      for (int t = 0; t < a.output_shape[0]; ++t)
        for (int k = 0; k < filters; ++k, ++to)
          for (int tap = 0; tap < kernel; ++tap) {
            int const step = t * stride - before + tap * dilation;
            if (step < 0 || step >= steps) continue;
            std::size_t const from =
                first + static_cast<std::size_t>(step * channels + k / filters_of_group * depth);
            for (int c = 0; c < depth; ++c)
              visit(to, from + static_cast<std::size_t>(c),
                    static_cast<std::size_t>((k * depth + c) * kernel + tap));
          }
  }
};

extern template struct detail::host_kernels<conv1d>;

}  // namespace cohort
