// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/convolution.hpp>

namespace cohort {

/// Two-dimensional convolution; as in all frameworks, a cross-correlation.
///
/// Shapes    input C×H×W → output K×H'×W'; weights K×(C/groups)×R×S, bias K.
/// Order     with G groups, filters and channels are split into G equal parts. Group i computes the i-th part
///           of the filters from the i-th part of the channels. Depthwise: groups = C.
/// Units     with dilation d, a kernel of size k covers (k − 1)·d + 1 elements. Padding: see `padding`.
/// Source    defaults of Deeplearning4j's ConvolutionLayer, except that the bias starts at 0.
struct conv2d {
  static constexpr std::string_view kind_name = "conv2d";
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

  static constexpr auto fields() { return detail::convolution_fields<conv2d>(); }

  constexpr detail::sliding_window window() const { return {kernel, stride, dilation, padding}; }

  constexpr inference infer(std::span<shape const> inputs) const {
    return detail::grouped(detail::slide(window(), inputs[0], filters), inputs[0], filters, groups);
  }

  constexpr parameter_list parameters(std::span<shape const> inputs) const {
    extent2 const k = kernel;
    return detail::convolution_parameters(inputs[0][0], filters, groups, {k.height, k.width}, bias);
  }

  constexpr double flops(std::span<shape const> inputs) const {
    extent2 const k = kernel;
    return 2.0 * static_cast<double>(infer(inputs).output.elements()) * (inputs[0][0] / groups) * k.height
           * k.width;
  }
};

}  // namespace cohort
