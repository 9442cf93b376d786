// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cohort/layer/kind.hpp>
#include <cstddef>

namespace cohort {

/// Normalisation by the root mean square: y = scale·x / √(mean(x²) + ε) over the last axis of each example.
/// Training and inference use the same formula; examples are independent of each other.
///
/// Shapes    input …×D → output of the same shape; scale D.
/// Exact     the sums over a row are computed in double. `reference` and `onednn` sum the gradient of the
///           scale in the element type.
/// Source    Zhang and Sennrich, NeurIPS 2019.
struct rms_norm {
  static constexpr std::string_view kind_name = "rms_norm";

  double epsilon = 1e-6;
  layer_settings settings = {};  ///< `bias` is the initialiser of the scale
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{field{"epsilon", &rms_norm::epsilon}}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (inputs[0].rank < 1) return {"rms_norm needs an axis to normalise", {"input", inputs[0]}};
    if (!(epsilon > 0)) return {"the epsilon of rms_norm must be above 0"};
    return inputs[0];
  }
  constexpr parameter_list parameters(std::span<shape const> inputs) const {
    parameter_list list;
    list.add({"scale", {inputs[0][inputs[0].rank - 1]}, parameter_role::biases, 1, 1, init::ones{}});
    return list;
  }
  constexpr mask_rule masks(std::span<shape const>) const { return mask_use::passes; }
  constexpr double flops(std::span<shape const> inputs) const {
    return 4.0 * static_cast<double>(inputs[0].elements());
  }
  /// Workspace: 1 / √(mean(x²) + ε) of each row.
  constexpr std::int64_t workspace(std::span<shape const> inputs, int batch) const {
    return batch * (inputs[0].elements() / inputs[0][inputs[0].rank - 1]);
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    each_row(a, [&](std::size_t row, std::size_t first, std::size_t count) {
      double squares = 0;
      for (std::size_t i = 0; i < count; ++i) {
        auto const x = static_cast<double>(a.inputs[0][first + i]);
        squares += x * x;
      }
      T const inverse = static_cast<T>(1 / std::sqrt(squares / static_cast<double>(count) + epsilon));
      if (a.workspace) a.workspace[row] = inverse;
      for (std::size_t i = 0; i < count; ++i)
        a.output[first + i] = a.inputs[0][first + i] * inverse * a.parameters[0][i];
    });
  }

  template <class T>
  void backward(host_arguments<T> const& a) const {
    std::fill_n(a.diff_parameters[0], static_cast<std::size_t>(a.output_shape[a.output_shape.rank - 1]),
                T(0));
    each_row(a, [&](std::size_t row, std::size_t first, std::size_t count) {
      T const inverse = a.workspace[row];
      double dot = 0;
      for (std::size_t i = 0; i < count; ++i) {
        T const normal = a.inputs[0][first + i] * inverse, g = a.diff_output[first + i];
        a.diff_parameters[0][i] += g * normal;
        dot += static_cast<double>(g * a.parameters[0][i] * normal);
      }
      if (!a.diff_inputs[0]) return;
      T const slope = static_cast<T>(dot / static_cast<double>(count));
      for (std::size_t i = 0; i < count; ++i)
        a.diff_inputs[0][first + i] =
            inverse
            * (a.diff_output[first + i] * a.parameters[0][i] - a.inputs[0][first + i] * inverse * slope);
    });
  }

 private:
  /// Calls visit(row, offset of the row's first element, elements per row).
  template <class T, class Visit>
  void each_row(host_arguments<T> const& a, Visit visit) const {
    auto const count = static_cast<std::size_t>(a.output_shape[a.output_shape.rank - 1]);
    std::size_t const rows = a.elements_of_output() / count;
    for (std::size_t row = 0; row < rows; ++row) visit(row, row * count, count);
  }
};

}  // namespace cohort

namespace cohort::detail {
template <>
inline constexpr bool is_on_demand_layer<rms_norm> = true;
}  // namespace cohort::detail

extern template struct cohort::detail::host_kernels<cohort::rms_norm>;
