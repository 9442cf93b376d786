// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/layer/kind.hpp>
#include <cstddef>

namespace cohort {

/// Group normalisation: y = scale·(x − mean)/√(variance + ε) + shift, with mean and variance over the
/// channels of a group and all positions of the example. Training and inference use the same formula. With
/// one channel per group this is instance normalisation.
///
/// Shapes    input C, T×C or C×H×W; output of the same shape; scale, shift C. `groups` divides C; a group
///           consists of C/groups neighbouring channels.
/// Units     the variance is biased (÷ N).
/// Exact     the sums over a group are computed in double, the gradients of scale and shift in the element
///           type.
/// Source    Wu and He, 2018.
struct group_norm {
  static constexpr std::string_view kind_name = "group_norm";

  required<int, "groups"> groups;
  double epsilon = 1e-5;
  layer_settings settings = {};  ///< `bias` is the initialiser of scale and shift
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"groups", &group_norm::groups}, field{"epsilon", &group_norm::epsilon}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (inputs[0].rank == 0) return {"group normalisation needs channels", {"input", inputs[0]}};
    if (groups < 1 || channels_of(inputs[0]) % groups != 0)
      return {"the groups must divide the channels", {"input", inputs[0]}, labelled_number("groups", groups)};
    if (!(epsilon > 0)) return {"the epsilon of group normalisation must be above 0"};
    return inputs[0];
  }
  constexpr mask_rule masks(std::span<shape const>) const {
    return "group normalisation mixes the steps of a masked sequence";
  }
  constexpr parameter_list parameters(std::span<shape const> inputs) const {
    shape const channels{channels_of(inputs[0])};
    parameter_list list;
    list.add({"scale", channels, parameter_role::biases, 1, 1, init::ones{}});
    list.add({"shift", channels, parameter_role::biases, 1, 1, init::zeros{}});
    return list;
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return 7.0 * static_cast<double>(inputs[0].elements());
  }
  /// Workspace: the means of the groups, then their variances.
  constexpr std::int64_t workspace(std::span<shape const>, int batch) const {
    return 2 * std::int64_t{batch} * groups;
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    group_loop const loop(a.output_shape, groups);
    std::size_t const count = loop.groups * static_cast<std::size_t>(a.batch);
    for (std::size_t group = 0; group < count; ++group) {
      double sum = 0, squares = 0;
      loop.each(group, [&](std::size_t, std::size_t first, std::size_t run) {
        for (std::size_t i = first; i < first + run; ++i) sum += static_cast<double>(a.inputs[0][i]);
      });
      double const average = sum / loop.elements;
      loop.each(group, [&](std::size_t, std::size_t first, std::size_t run) {
        for (std::size_t i = first; i < first + run; ++i) {
          double const centred = static_cast<double>(a.inputs[0][i]) - average;
          squares += centred * centred;
        }
      });
      T const mean = static_cast<T>(average), variance = static_cast<T>(squares / loop.elements);
      if (a.workspace) a.workspace[group] = mean, a.workspace[count + group] = variance;
      T const inverse = inverse_deviation(variance);
      loop.each(group, [&](std::size_t channel, std::size_t first, std::size_t run) {
        T const factor = inverse * a.parameters[0][channel], shift = a.parameters[1][channel];
        for (std::size_t i = first; i < first + run; ++i)
          a.output[i] = (a.inputs[0][i] - mean) * factor + shift;
      });
    }
  }

  template <class T>
  void backward(host_arguments<T> const& a) const {
    auto const channels = static_cast<std::size_t>(channels_of(a.output_shape));
    for (std::size_t c = 0; c < channels; ++c) a.diff_parameters[0][c] = a.diff_parameters[1][c] = 0;
    group_loop const loop(a.output_shape, groups);
    std::size_t const count = loop.groups * static_cast<std::size_t>(a.batch);
    for (std::size_t group = 0; group < count; ++group) {
      T const mean = a.workspace[group], inverse = inverse_deviation(a.workspace[count + group]);
      double sum = 0, dot = 0;
      loop.each(group, [&](std::size_t channel, std::size_t first, std::size_t run) {
        T of_scale = 0, of_shift = 0;
        for (std::size_t i = first; i < first + run; ++i) {
          of_scale += a.diff_output[i] * (a.inputs[0][i] - mean) * inverse;
          of_shift += a.diff_output[i];
        }
        a.diff_parameters[0][channel] += of_scale;
        a.diff_parameters[1][channel] += of_shift;
        auto const scale = static_cast<double>(a.parameters[0][channel]);
        sum += scale * static_cast<double>(of_shift);
        dot += scale * static_cast<double>(of_scale);
      });
      if (!a.diff_inputs[0]) continue;
      T const of_mean = static_cast<T>(sum / loop.elements);
      T const slope = static_cast<T>(dot / loop.elements) * inverse;
      loop.each(group, [&](std::size_t channel, std::size_t first, std::size_t run) {
        T const scale = a.parameters[0][channel];
        for (std::size_t i = first; i < first + run; ++i)
          a.diff_inputs[0][i] =
              inverse * (a.diff_output[i] * scale - of_mean - (a.inputs[0][i] - mean) * slope);
      });
    }
  }

 private:
  /// The elements of a group, as runs of one channel.
  struct group_loop {
    std::size_t channels, groups, steps, area;
    double elements;  // number of elements of a group

    group_loop(shape const& s, int count)
        : channels(static_cast<std::size_t>(channels_of(s))),
          groups(static_cast<std::size_t>(count)),
          steps(s.rank == 2 ? static_cast<std::size_t>(s[0]) : 1),
          area(static_cast<std::size_t>(s.elements()) / channels / steps),
          elements(static_cast<double>(s.elements()) / count) {}

    /// Calls visit(channel, first element, number of elements). `group` counts through the batch.
    template <class Visit>
    void each(std::size_t group, Visit visit) const {
      std::size_t const each_group = channels / groups, begin = group % groups * each_group;
      std::size_t const example = group / groups * steps * channels * area;
      for (std::size_t step = 0; step < steps; ++step)
        for (std::size_t channel = begin; channel < begin + each_group; ++channel)
          visit(channel, example + (step * channels + channel) * area, area);
    }
  };

  template <class T>
  T inverse_deviation(T variance) const {
    return 1 / std::sqrt(variance + static_cast<T>(epsilon));
  }
};

extern template struct detail::host_kernels<group_norm>;

}  // namespace cohort
