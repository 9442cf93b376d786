// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/layer/detail/each_channel.hpp>
#include <cohort/layer/kind.hpp>

namespace cohort {

/// x if x > 0, else a·x, with a learned slope a that starts at 0.25. The slope has the role of a bias, so
/// penalties do not apply to it by default.
///
/// Shapes    input C, T×C or C×H×W; output of the same shape; slope C, or 1 if not `per_channel`.
/// Source    He, Zhang, Ren and Sun, ICCV 2015.
struct prelu {
  static constexpr std::string_view kind_name = "prelu";
  static constexpr mask_use masks = mask_use::passes;

  bool per_channel = true;
  layer_settings settings = {};
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{field{"per_channel", &prelu::per_channel}}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (inputs[0].rank == 0) return {"a prelu needs an input with channels", {"input", inputs[0]}};
    return inputs[0];
  }
  constexpr parameter_list parameters(std::span<shape const> inputs) const {
    parameter_list list;
    list.add({"slope",
              {per_channel ? channels_of(inputs[0]) : 1},
              parameter_role::biases,
              1,
              1,
              init::constant{0.25}});
    return list;
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return static_cast<double>(inputs[0].elements());
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::each_channel(a.batch, a.output_shape, [&](int c, std::size_t first, std::size_t area) {
      T const slope = a.parameters[0][per_channel ? c : 0];
      T const* const x = a.inputs[0] + first;
      for (std::size_t i = 0; i < area; ++i) a.output[first + i] = x[i] > 0 ? x[i] : slope * x[i];
    });
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    std::fill_n(a.diff_parameters[0], per_channel ? channels_of(a.output_shape) : 1, T(0));
    detail::each_channel(a.batch, a.output_shape, [&](int c, std::size_t first, std::size_t area) {
      T const slope = a.parameters[0][per_channel ? c : 0];
      T const *const x = a.inputs[0] + first, *const diff = a.diff_output + first;
      T sum = 0;
      for (std::size_t i = 0; i < area; ++i) sum += x[i] > 0 ? 0 : diff[i] * x[i];
      a.diff_parameters[0][per_channel ? c : 0] += sum;
      if (!a.diff_inputs[0]) return;
      for (std::size_t i = 0; i < area; ++i)
        a.diff_inputs[0][first + i] = x[i] > 0 ? diff[i] : slope * diff[i];
    });
  }
};

extern template struct detail::host_kernels<prelu>;

}  // namespace cohort
