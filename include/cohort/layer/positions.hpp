// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cohort/layer/kind.hpp>
#include <cstddef>

namespace cohort {

/// Learned position embedding: adds a learned vector to each step of a sequence, y_t = x_t + w_t.
///
/// Shapes    input T×C → output of the same shape; weights T×C.
/// Exact     gradients are added in the order of the examples.
struct learned_positions {
  static constexpr std::string_view kind_name = "learned_positions";

  layer_settings settings = {};
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (inputs[0].rank != 2)
      return {"positions need a sequence: an input of steps x columns", {"input", inputs[0]}};
    return inputs[0];
  }
  constexpr parameter_list parameters(std::span<shape const> inputs) const {
    parameter_list list;
    list.add({"weights", inputs[0], parameter_role::weights, inputs[0][0], inputs[0][1]});
    return list;
  }
  constexpr mask_rule masks(std::span<shape const>) const { return mask_use::passes; }
  constexpr double flops(std::span<shape const> inputs) const {
    return static_cast<double>(inputs[0].elements());
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    auto const each = static_cast<std::size_t>(a.output_shape.elements());
    for (std::size_t first = 0; first < a.elements_of_output(); first += each)
      for (std::size_t i = 0; i < each; ++i)
        a.output[first + i] = a.inputs[0][first + i] + a.parameters[0][i];
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    auto const each = static_cast<std::size_t>(a.output_shape.elements());
    std::fill_n(a.diff_parameters[0], each, T(0));
    for (std::size_t first = 0; first < a.elements_of_output(); first += each)
      for (std::size_t i = 0; i < each; ++i) a.diff_parameters[0][i] += a.diff_output[first + i];
    if (a.diff_inputs[0]) std::copy_n(a.diff_output, a.elements_of_output(), a.diff_inputs[0]);
  }
};

/// Sinusoidal position encoding: at step t, adds sin(t / base^(2k / C)) to column 2k, and the cosine of the
/// same angle to column 2k + 1.
///
/// Shapes    input T×C → output of the same shape.
/// Source    Vaswani et al., NeurIPS 2017.
struct sinusoidal_positions {
  static constexpr std::string_view kind_name = "sinusoidal_positions";

  double base = 10000;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{field{"base", &sinusoidal_positions::base}}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (inputs[0].rank != 2)
      return {"positions need a sequence: an input of steps x columns", {"input", inputs[0]}};
    if (!(base > 1)) return {"the base of sinusoidal positions must be above 1"};
    return inputs[0];
  }
  constexpr mask_rule masks(std::span<shape const>) const { return mask_use::passes; }
  constexpr double flops(std::span<shape const> inputs) const {
    return static_cast<double>(inputs[0].elements());
  }
  /// Returns the value that is added at `step` to `column` of `columns` columns.
  double wave(std::size_t step, std::size_t column, std::size_t columns) const {
    double const angle =
        static_cast<double>(step)
        * std::pow(base, -static_cast<double>(column / 2 * 2) / static_cast<double>(columns));
    return column % 2 == 0 ? std::sin(angle) : std::cos(angle);
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    auto const each = static_cast<std::size_t>(a.output_shape.elements());
    auto const columns = static_cast<std::size_t>(a.output_shape[1]);
    for (std::size_t i = 0; i < each; ++i) {
      T const added = static_cast<T>(wave(i / columns, i % columns, columns));
      for (std::size_t first = 0; first < a.elements_of_output(); first += each)
        a.output[first + i] = a.inputs[0][first + i] + added;
    }
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    if (a.diff_inputs[0]) std::copy_n(a.diff_output, a.elements_of_output(), a.diff_inputs[0]);
  }
};

}  // namespace cohort

namespace cohort::detail {
template <>
inline constexpr bool is_on_demand_layer<learned_positions> = true;
template <>
inline constexpr bool is_on_demand_layer<sinusoidal_positions> = true;
}  // namespace cohort::detail

extern template struct cohort::detail::host_kernels<cohort::learned_positions>;
extern template struct cohort::detail::host_kernels<cohort::sinusoidal_positions>;
