// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/conv2d.hpp>

namespace cohort {

/// Depthwise separable convolution, a block of two layers: each channel is convolved by itself, then a convolution of
/// 1×1 mixes them. Files and summaries show the two.
///
/// Shapes    input C×H×W → (C·multiplier)×H'×W' → output K×H'×W'; weights (C·multiplier)×1×R×S, then K×(C·multiplier)×1×1,
///           bias K: the depthwise one has none.
/// Order     `name` and the bias's initialiser belong to the second, the weights' initialiser to both.
/// Source    Chollet, Xception, CVPR 2017; defaults as Keras' SeparableConv2D.
struct separable_conv2d {
  required<int> filters;
  required<extent2> kernel;
  extent2 stride = 1;
  cohort::padding padding = {};
  extent2 dilation = 1;
  int multiplier = 1;
  bool bias = true;
  layer_settings settings = {};
  std::string_view name{};
  source at = source::here();

  /// Before    Tensor is `tensor`, whose header stands behind this one.
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
