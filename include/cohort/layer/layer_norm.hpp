// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/layer/kind.hpp>

namespace cohort {

/// Layer normalisation: y = scale·(x − mean)/√(variance + ε) + shift, with mean and variance over the last
/// axes of each example. Training and inference use the same formula; examples are independent of each other.
///
/// Shapes    input …×D → output of the same shape; scale, shift D, with D the last `axes` extents.
/// Units     the variance is biased (÷ N). If D has one element, the output is `shift`.
/// Exact     `reference` computes the sums over a row in double, and the gradients of scale and shift in the
///           element type. `onednn` sums in f32; for `cudnn` see its README.
/// Source    Ba, Kiros and Hinton, 2016.
struct layer_norm {
  static constexpr std::string_view kind_name = "layer_norm";

  int axes = 1;
  double epsilon = 1e-5;
  layer_settings settings = {};  ///< `bias` is the initialiser of scale and shift
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"axes", &layer_norm::axes}, field{"epsilon", &layer_norm::epsilon}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (axes < 1 || axes > inputs[0].rank)
      return {"the axes of layer normalisation must be from 1 to the rank of its input",
              {"input", inputs[0]},
              labelled_number("axes", axes)};
    if (!(epsilon > 0)) return {"the epsilon of layer normalisation must be above 0"};
    return inputs[0];
  }
  constexpr mask_rule masks(std::span<shape const>) const {
    if (axes > 1) return "layer normalisation over several axes mixes the steps of a masked sequence";
    return mask_use::passes;
  }
  /// The extents that are normalised together.
  constexpr shape last_axes(shape const& input) const {
    shape last;
    for (int axis = input.rank - axes; axis < input.rank; ++axis) last[last.rank++] = input[axis];
    return last;
  }
  constexpr parameter_list parameters(std::span<shape const> inputs) const {
    shape const each = last_axes(inputs[0]);
    parameter_list list;
    list.add({"scale", each, parameter_role::biases, 1, 1, init::ones{}});
    list.add({"shift", each, parameter_role::biases, 1, 1, init::zeros{}});
    return list;
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return 7.0 * static_cast<double>(inputs[0].elements());
  }
  /// Workspace: the means of the rows, then their variances.
  constexpr std::int64_t workspace(std::span<shape const> inputs, int batch) const {
    return 2 * batch * (inputs[0].elements() / last_axes(inputs[0]).elements());
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    each_row(a, [&](std::size_t row, std::size_t rows, std::size_t first, std::size_t count) {
      double sum = 0, squares = 0;
      for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(a.inputs[0][first + i]);
      double const average = sum / static_cast<double>(count);
      for (std::size_t i = 0; i < count; ++i) {
        double const centred = static_cast<double>(a.inputs[0][first + i]) - average;
        squares += centred * centred;
      }
      T const mean = static_cast<T>(average), variance = static_cast<T>(squares / static_cast<double>(count));
      if (a.workspace) a.workspace[row] = mean, a.workspace[rows + row] = variance;
      T const inverse = inverse_deviation(variance);
      for (std::size_t i = 0; i < count; ++i)
        a.output[first + i] =
            (a.inputs[0][first + i] - mean) * inverse * a.parameters[0][i] + a.parameters[1][i];
    });
  }

  template <class T>
  void backward(host_arguments<T> const& a) const {
    auto const elements = static_cast<std::size_t>(last_axes(a.output_shape).elements());
    for (std::size_t i = 0; i < elements; ++i) a.diff_parameters[0][i] = a.diff_parameters[1][i] = 0;
    each_row(a, [&](std::size_t row, std::size_t rows, std::size_t first, std::size_t count) {
      T const mean = a.workspace[row], inverse = inverse_deviation(a.workspace[rows + row]);
      double sum = 0, dot = 0;
      for (std::size_t i = 0; i < count; ++i) {
        T const normal = (a.inputs[0][first + i] - mean) * inverse, g = a.diff_output[first + i];
        a.diff_parameters[0][i] += g * normal;
        a.diff_parameters[1][i] += g;
        sum += static_cast<double>(g * a.parameters[0][i]);
        dot += static_cast<double>(g * a.parameters[0][i] * normal);
      }
      if (!a.diff_inputs[0]) return;
      T const of_mean = static_cast<T>(sum / static_cast<double>(count));
      T const slope = static_cast<T>(dot / static_cast<double>(count)) * inverse;
      for (std::size_t i = 0; i < count; ++i)
        a.diff_inputs[0][first + i] = inverse
                                      * (a.diff_output[first + i] * a.parameters[0][i] - of_mean
                                         - (a.inputs[0][first + i] - mean) * slope);
    });
  }

 private:
  template <class T>
  T inverse_deviation(T variance) const {
    return 1 / std::sqrt(variance + static_cast<T>(epsilon));
  }
  /// Calls visit(row, number of rows, offset of the row's first element, elements per row).
  template <class T, class Visit>
  void each_row(host_arguments<T> const& a, Visit visit) const {
    auto const count = static_cast<std::size_t>(last_axes(a.output_shape).elements());
    std::size_t const rows = a.elements_of_output() / count;
    for (std::size_t row = 0; row < rows; ++row) visit(row, rows, row * count, count);
  }
};

extern template struct detail::host_kernels<layer_norm>;

}  // namespace cohort
