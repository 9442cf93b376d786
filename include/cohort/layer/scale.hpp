// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/each_channel.hpp>
#include <cohort/layer/kind.hpp>

namespace cohort {

/// factor·x. With `learned`, one learned factor per channel, which starts at `factor`. Learned factors have
/// the role of a bias, so penalties do not apply to them by default.
///
/// Shapes    input C, T×C or C×H×W; output of the same shape; learned: factor C.
struct scale {
  static constexpr std::string_view kind_name = "scale";
  static constexpr mask_use masks = mask_use::passes;

  double factor = 1;
  bool learned = false;
  layer_settings settings = {};
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"factor", &scale::factor}, field{"learned", &scale::learned}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (!(factor > -1e300 && factor < 1e300)) return {"the factor of a scale must be a finite number"};
    if (inputs[0].rank == 0) return {"a scale needs an input with channels", {"input", inputs[0]}};
    return inputs[0];
  }
  constexpr parameter_list parameters(std::span<shape const> inputs) const {
    parameter_list list;
    if (learned)
      list.add({"factor", {channels_of(inputs[0])}, parameter_role::biases, 1, 1, init::constant{factor}});
    return list;
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return static_cast<double>(inputs[0].elements());
  }

  /// The forward pass of one channel at inference. `parameters`: the factor, if learned.
  channel_map at_inference(std::span<double const> parameters) const {
    return {learned ? parameters[0] : factor, 0};
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    multiply_channels(a, a.inputs[0], a.output);
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    if (a.diff_inputs[0]) multiply_channels(a, a.diff_output, a.diff_inputs[0]);
    if (!learned) return;
    for (int c = 0; c < channels_of(a.output_shape); ++c) a.diff_parameters[0][c] = 0;
    detail::each_channel(a.batch, a.output_shape, [&](int c, std::size_t first, std::size_t area) {
      T sum = 0;
      for (std::size_t i = first; i < first + area; ++i) sum += a.diff_output[i] * a.inputs[0][i];
      a.diff_parameters[0][c] += sum;
    });
  }

 private:
  template <class T>
  void multiply_channels(host_arguments<T> const& a, T const* from, T* to) const {
    detail::each_channel(a.batch, a.output_shape, [&](int c, std::size_t first, std::size_t area) {
      T const by = learned ? a.parameters[0][c] : static_cast<T>(factor);
      for (std::size_t i = first; i < first + area; ++i) to[i] = by * from[i];
    });
  }
};

extern template struct detail::host_kernels<scale>;

}  // namespace cohort
