// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/window.hpp>

namespace cohort {

/// Two-dimensional convolution (cross-correlation, as everywhere in the field).
///
/// Shapes    input C×H×W → output K×H'×W'; weights K×C×R×S, bias K.
/// Source    padding: semantics of `padding`; defaults as Deeplearning4j's ConvolutionLayer but bias 0.
struct conv2d {
  static constexpr std::string_view kind_name = "conv2d";

  required<int> filters;
  required<extent2> kernel;
  extent2 stride = 1;
  cohort::padding padding = {};
  bool bias = true;
  layer_settings settings = {};
  std::string_view name{};
  source at = source::here();

  static constexpr auto fields() {
    return std::tuple{field{"filters", &conv2d::filters}, field{"kernel", &conv2d::kernel},
                      field{"stride", &conv2d::stride}, field{"padding", &conv2d::padding},
                      field{"bias", &conv2d::bias}};
  }

  constexpr cohort::window window() const { return {kernel, stride, 1, padding}; }

  constexpr inference infer(std::span<shape const> inputs) const {
    if (filters < 1) return {"a convolution needs at least one filter", labelled_number("filters", filters)};
    return slide(window(), inputs[0], filters);
  }

  constexpr parameter_list parameters(std::span<shape const> inputs) const {
    extent2 const k = kernel;
    int const area = k.height * k.width;
    parameter_list list;
    int const fan_in = inputs[0][0] * area, fan_out = filters * area;
    list.add({"weights",
              {filters.value, inputs[0][0], k.height, k.width},
              parameter_role::weights,
              fan_in,
              fan_out});
    if (bias) list.add({"bias", {filters.value}, parameter_role::biases, fan_in, fan_out});
    return list;
  }

  constexpr double flops(std::span<shape const> inputs) const {
    extent2 const k = kernel;
    return 2.0 * static_cast<double>(infer(inputs).output.elements()) * inputs[0][0] * k.height * k.width;
  }
};

}  // namespace cohort
