// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/layer/detail/loss.hpp>

namespace cohort {

/// Huber loss: quadratic near the target, linear far from it.
///
/// Shapes    any; input, target and output have the same shape. The output is the unchanged input.
/// Units     `delta`: the distance at which the loss becomes linear. `weight`: factor of this loss in the sum
///           of all losses.
/// After     loss = mean over examples of (1/outputs)·Σ h(x − target), h(d) = ½d² if |d| ≤ δ, else δ·(|d| −
///           ½δ); gradient clip(x − target, ±δ)/(outputs·count), with count examples in the batch.
///           A sequence T×C has T steps of C outputs. With a mask: mean over the unmasked steps of the whole
///           batch. `sum_steps`: sum over the steps of an example instead of their mean.
/// Source    Huber, 1964; PyTorch huber_loss.
struct huber {
  static constexpr std::string_view kind_name = "huber";
  static constexpr layer_role role = layer_role::loss;
  static constexpr mask_use masks = mask_use::ends;
  static constexpr bool reads_mask = true;

  double delta = 1;
  double weight = 1;
  bool sum_steps = false;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"delta", &huber::delta}, field{"weight", &huber::weight},
                      field{"sum_steps", &huber::sum_steps}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (!(delta > 0 && delta < 1e300)) return {"the delta of a Huber loss must be a finite number above 0"};
    return detail::infer_loss(inputs, weight, sum_steps);
  }
  constexpr target_spec target(std::span<shape const> inputs) const {
    return detail::numbers_like(inputs[0], sum_steps);
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return 4.0 * static_cast<double>(inputs[0].elements());
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::copy_input_to_output(a);
    detail::sum_loss(a, weight * detail::output_factor(a, sum_steps),
                     [d = static_cast<T>(delta)](T x, T target) {
                       T const distance = std::abs(x - target);
                       return distance <= d ? distance * distance / 2 : d * (distance - d / 2);
                     });
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    detail::differentiate_loss(a, weight * detail::output_factor(a, sum_steps),
                               [d = static_cast<T>(delta)](T x, T target) {
                                 T const difference = x - target;
                                 return difference > d ? d : difference < -d ? -d : difference;
                               });
  }
};

extern template struct detail::host_kernels<huber>;

}  // namespace cohort
