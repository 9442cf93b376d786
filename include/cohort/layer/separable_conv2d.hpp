// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/conv2d.hpp>

namespace cohort {

/// Depthwise separable convolution: a block of two layers. A depthwise convolution convolves each channel
/// separately; then a 1×1 convolution mixes the channels. Files and summaries show two conv2d layers.
///
/// Shapes    input C×H×W → (C·multiplier)×H'×W' → output K×H'×W'. Depthwise: weights (C·multiplier)×1×R×S, no
///           bias. 1×1: weights K×(C·multiplier)×1×1, bias K.
/// Order     `name` and `settings.bias` apply to the 1×1 convolution, `settings.weights` to both.
/// Source    Chollet, Xception, CVPR 2017; defaults as Keras' SeparableConv2D.
struct separable_conv2d {
  required<int, "filters"> filters;
  required<extent2, "kernel"> kernel;
  extent2 stride = 1;
  cohort::padding padding = {};
  extent2 dilation = 1;
  int multiplier = 1;
  bool bias = true;
  layer_settings settings = {};
  std::string_view name{};
  source_line at = source_line::here();

  /// Appends the two layers to `x`.
  ///
  /// Before    Tensor is `tensor`. It is a template parameter, because graph/builder.hpp includes this
  ///           header.
  template <class Tensor>
  constexpr Tensor operator()(Tensor x) const {
    int const channels = x.dims().rank > 0 ? x.dims()[0] : 1;
    return x
           | conv2d{.filters = channels * multiplier,
                    .kernel = kernel,
                    .stride = stride,
                    .padding = padding,
                    .dilation = dilation,
                    .groups = channels,
                    .bias = false,
                    .settings = settings,
                    .at = at}
           | conv2d{
               .filters = filters, .kernel = 1, .bias = bias, .settings = settings, .name = name, .at = at};
  }
};

}  // namespace cohort
