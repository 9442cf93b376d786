// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/convolution.hpp>
#include <cohort/layer/detail/convolution_loops.hpp>

namespace cohort {

/// Transposed convolution: the operation that computes the input gradient of a conv2d. Upsamples by the
/// stride.
///
/// Shapes    input C×H×W → output K×H'×W'; weights K×(C/groups)×R×S as for conv2d, bias K. A conv2d with the
///           same window maps the output back to H×W. With k' = (k − 1)·d + 1:
///           valid, strict   H' = (H − 1)·s + k'
///           same            H' = H·s
///           sides           H' = (H − 1)·s + k' − top − bottom
///           For PyTorch's output_padding p, reduce the padding at the bottom and right by p.
/// Source    Dumoulin and Visin, A guide to convolution arithmetic for deep learning, 2016. Weights are
///           C×(K/groups)×R×S in PyTorch and R×S×K×C in Keras.
struct conv2d_transposed {
  static constexpr std::string_view kind_name = "conv2d_transposed";
  static constexpr bool takes_channel_maps = true;

  required<int, "filters"> filters;
  required<extent2, "kernel"> kernel;
  extent2 stride = 1;
  cohort::padding padding = {};
  extent2 dilation = 1;
  int groups = 1;
  bool bias = true;
  layer_settings settings = {};
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return detail::convolution_fields<conv2d_transposed>(); }

  /// The window of the conv2d that maps the output back to the input.
  constexpr detail::sliding_window window() const { return {kernel, stride, dilation, padding}; }

  constexpr inference infer(std::span<shape const> inputs) const {
    shape const input = inputs[0];
    if (input.rank != 3) return detail::slide(window(), input, filters);
    extent2 const k = kernel;
    std::int64_t const height = extent(input[1], k.height, stride.height, dilation.height, true),
                       width = extent(input[2], k.width, stride.width, dilation.width, false);
    if (height > detail::largest_extent || width > detail::largest_extent)
      return {"an extent of the output is more than 2^30",
              {"input", input},
              {"stride", {stride.height, stride.width}}};
    shape const output{filters.value, static_cast<int>(height), static_cast<int>(width)};
    bool const is_window_valid = stride.height > 0 && stride.width > 0 && k.height > 0 && k.width > 0;
    if (is_window_valid && (output[1] < 1 || output[2] < 1))
      return {"the padding removes the whole output",
              {"input", input},
              {"padding", {padding.top, padding.bottom, padding.left, padding.right}}};
    detail::sliding_window inverse = window();
    if (inverse.padding.mode == padding_mode::strict) inverse.padding = cohort::padding::valid;
    inference const mapped_back = detail::slide(inverse, output, input[0]);
    return detail::grouped(mapped_back.problem.found() ? mapped_back : inference(output), input, filters,
                           groups);
  }

  constexpr parameter_list parameters(std::span<shape const> inputs) const {
    extent2 const k = kernel;
    return detail::convolution_parameters(inputs[0][0], filters, groups, {k.height, k.width}, bias);
  }

  constexpr double flops(std::span<shape const> inputs) const {
    extent2 const k = kernel;
    return 2.0 * static_cast<double>(inputs[0].elements()) * (filters / groups) * k.height * k.width;
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
  constexpr std::int64_t extent(int in, int k, int s, int d, bool vertical) const {
    if (padding.mode == padding_mode::same) return std::int64_t{in} * s;
    std::int64_t const whole = (std::int64_t{in} - 1) * s + detail::dilated(k, d);
    return whole - (vertical ? padding.top + padding.bottom : padding.left + padding.right);
  }
  detail::convolution_loops loops(shape const& input, shape const& output) const {
    return {.image = output, .map = input, .window = window(), .groups = groups, .transposed = true};
  }
};

extern template struct detail::host_kernels<conv2d_transposed>;

}  // namespace cohort
