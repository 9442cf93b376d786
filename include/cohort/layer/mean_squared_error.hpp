// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/loss.hpp>

namespace cohort {

/// Mean squared error, for regression.
///
/// Shapes    any; input, target and output have the same shape. The output is the unchanged input.
/// Units     `weight`: factor of this loss in the sum of all losses.
/// After     loss = mean over examples of (1/outputs)·Σ (x − target)²; gradient 2·(x −
///           target)/(outputs·count), with count examples in the batch.
///           A sequence T×C has T steps of C outputs. With a mask: mean over the unmasked steps of the whole
///           batch. `sum_steps`: sum over the steps of an example instead of their mean.
/// Source    DL4J LossMSE, PyTorch mse_loss: divided by the number of outputs, without ½.
struct mean_squared_error {
  static constexpr std::string_view kind_name = "mean_squared_error";
  static constexpr layer_role role = layer_role::loss;
  static constexpr mask_use masks = mask_use::ends;
  static constexpr bool reads_mask = true;

  double weight = 1;
  bool sum_steps = false;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"weight", &mean_squared_error::weight},
                      field{"sum_steps", &mean_squared_error::sum_steps}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    return detail::infer_loss(inputs, weight, sum_steps);
  }
  constexpr target_spec target(std::span<shape const> inputs) const {
    return detail::numbers_like(inputs[0], sum_steps);
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return 3.0 * static_cast<double>(inputs[0].elements());
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::copy_input_to_output(a);
    detail::sum_loss(a, weight * detail::output_factor(a, sum_steps),
                     [](T x, T target) { return (x - target) * (x - target); });
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    detail::differentiate_loss(a, weight * detail::output_factor(a, sum_steps),
                               [](T x, T target) { return 2 * (x - target); });
  }
};

extern template struct detail::host_kernels<mean_squared_error>;

}  // namespace cohort
