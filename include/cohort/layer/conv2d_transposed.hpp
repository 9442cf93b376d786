// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/convolution.hpp>
#include <cohort/layer/detail/convolution_loops.hpp>

namespace cohort {

/// Transposed convolution: what conv2d's backward does to the gradient of its output. Enlarges by its stride.
///
/// Shapes    input C×H×W → output K×H'×W'; weights K×(C/groups)×R×S as conv2d's, bias K. conv2d with the same window on
///           the output makes the input's H×W again. With k' = (k − 1)·d + 1:
///           valid, strict   H' = (H − 1)·s + k'
///           same            H' = H·s
///           sides           H' = (H − 1)·s + k' − top − bottom. PyTorch's output_padding is that much less at the bottom
///                           and on the right.
/// Source    Dumoulin and Visin, A guide to convolution arithmetic for deep learning, 2016. PyTorch's weights are
///           C×(K/groups)×R×S, Keras' R×S×K×C.
struct conv2d_transposed {
  static constexpr std::string_view kind_name = "conv2d_transposed";
  static constexpr bool takes_channel_maps = true;

  required<int> filters;
  required<extent2> kernel;
  extent2 stride = 1;
  cohort::padding padding = {};
  extent2 dilation = 1;
  int groups = 1;
  bool bias = true;
  layer_settings settings = {};
  std::string_view name{};
  source at = source::here();

  static constexpr auto fields() { return detail::convolution_fields<conv2d_transposed>(); }

  /// Of the convolution that reads the output.
  constexpr cohort::window window() const { return {kernel, stride, dilation, padding}; }

  constexpr inference infer(std::span<shape const> inputs) const {
    shape const input = inputs[0];
    if (input.rank != 3) return slide(window(), input, filters);
    extent2 const k = kernel;
    shape output{filters.value, extent(input[1], k.height, stride.height, dilation.height, true),
                 extent(input[2], k.width, stride.width, dilation.width, false)};
    bool const moves = stride.height > 0 && stride.width > 0 && k.height > 0 && k.width > 0;
    if (moves && (output[1] < 1 || output[2] < 1))
      return {"the padding leaves nothing of the output",
              {"input", input},
              {"padding", {padding.top, padding.bottom, padding.left, padding.right}}};
    cohort::window back = window();
    if (back.padding.mode == padding_mode::strict) back.padding = cohort::padding::valid;
    inference const again = slide(back, output, input[0]);
    return detail::grouped(again.problem.found() ? again : inference(output), input, filters, groups);
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
  constexpr int extent(int in, int k, int s, int d, bool vertical) const {
    if (padding.mode == padding_mode::same) return in * s;
    int const whole = (in - 1) * s + detail::dilated(k, d);
    return whole - (vertical ? padding.top + padding.bottom : padding.left + padding.right);
  }
  detail::convolution_loops loops(shape const& input, shape const& output) const {
    return {.image = output, .map = input, .window = window(), .groups = groups, .transposed = true};
  }
};

}  // namespace cohort
