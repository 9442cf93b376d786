// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/convolution.hpp>
#include <cohort/layer/detail/convolution_loops.hpp>

namespace cohort {

/// One-dimensional convolution, computed as conv2d with height 1.
///
/// Shapes    input C×L → output K×L'; weights K×(C/groups)×R, bias K.
/// Units     explicit padding: padding(n) on both sides, or padding(0, 0, before, after).
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

  /// C×L as an image of one row, C×1×L.
  static constexpr shape row(shape const& sequence) { return {sequence[0], 1, sequence[1]}; }
  /// The window of the equivalent conv2d.
  constexpr detail::sliding_window window() const {
    cohort::padding along = padding;
    along.top = along.bottom = 0;
    return {{1, kernel}, {1, stride}, {1, dilation}, along};
  }

  constexpr inference infer(std::span<shape const> inputs) const {
    if (inputs[0].rank != 2) return {"this layer needs an input of channels x length", {"input", inputs[0]}};
    bool const every_side = padding == cohort::padding(padding.left);
    if (padding.mode == padding_mode::sides && !every_side && (padding.top != 0 || padding.bottom != 0))
      return {"a sequence cannot have padding at the top or bottom",
              {"padding", {padding.top, padding.bottom, padding.left, padding.right}}};
    inference made =
        detail::grouped(detail::slide(window(), row(inputs[0]), filters), inputs[0], filters, groups);
    if (!made.problem.found()) made.output = {made.output[0], made.output[2]};
    return made;
  }

  constexpr parameter_list parameters(std::span<shape const> inputs) const {
    return detail::convolution_parameters(inputs[0][0], filters, groups, {kernel.value}, bias);
  }

  constexpr double flops(std::span<shape const> inputs) const {
    return 2.0 * static_cast<double>(infer(inputs).output.elements()) * (inputs[0][0] / groups) * kernel;
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    loops(a.input_shapes[0], a.output_shape).forward(a, bias);
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    loops(a.input_shapes[0], a.output_shape).backward(a, bias);
  }

 private:
  detail::convolution_loops loops(shape const& input, shape const& output) const {
    return {.image = row(input), .map = row(output), .window = window(), .groups = groups};
  }
};

}  // namespace cohort
