// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/layer/detail/loss.hpp>

namespace cohort {

/// Mean absolute error, for regression that is robust to outliers.
///
/// Shapes    any; input, target and output have the same shape. The output is the unchanged input.
/// Units     `weight`: factor of this loss in the sum of all losses.
/// After     loss = mean over examples of (1/outputs)·Σ |x − target|; gradient sign(x −
///           target)/(outputs·count), with count examples in the batch.
///           A sequence T×C has T steps of C outputs. With a mask: mean over the unmasked steps of the whole
///           batch. `sum_steps`: sum over the steps of an example instead of their mean.
/// Exact     the derivative at x = target is 0.
/// Source    DL4J LossMAE, PyTorch l1_loss: divided by the number of outputs.
struct mean_absolute_error {
  static constexpr std::string_view kind_name = "mean_absolute_error";
  static constexpr layer_role role = layer_role::loss;
  static constexpr mask_use masks = mask_use::ends;
  static constexpr bool reads_mask = true;

  double weight = 1;
  bool sum_steps = false;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"weight", &mean_absolute_error::weight},
                      field{"sum_steps", &mean_absolute_error::sum_steps}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    return detail::infer_loss(inputs, weight, sum_steps);
  }
  constexpr target_spec target(std::span<shape const> inputs) const {
    return detail::numbers_like(inputs[0], sum_steps);
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return 2.0 * static_cast<double>(inputs[0].elements());
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::copy_input_to_output(a);
    detail::sum_loss(a, weight * detail::output_factor(a, sum_steps),
                     [](T x, T target) { return std::abs(x - target); });
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    detail::differentiate_loss(a, weight * detail::output_factor(a, sum_steps),
                               [](T x, T target) { return static_cast<T>((x > target) - (x < target)); });
  }
};

extern template struct detail::host_kernels<mean_absolute_error>;

}  // namespace cohort
