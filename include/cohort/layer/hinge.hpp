// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/loss.hpp>

namespace cohort {

/// Hinge loss with margin 1, as in support vector machines; one binary decision per output.
///
/// Shapes    any; input, target and output have the same shape. The output is the unchanged input.
/// Units     targets are in [−1, 1]: a target above 0 is the positive class, any other the negative class. So
///           labels −1/+1 and 0/1 are equivalent. `weight`: factor of this loss in the sum of all losses.
/// After     loss = mean over examples of (1/outputs)·Σ max(0, 1 − s·x), s = +1 for the positive class, else
///           −1; gradient −s/(outputs·count) if s·x < 1, else 0, with count examples in the batch.
///           A sequence T×C has T steps of C outputs. With a mask: mean over the unmasked steps of the whole
///           batch. `sum_steps`: sum over the steps of an example instead of their mean.
/// Source    Keras hinge (0/1 labels become −1/+1); DL4J LossHinge sums over the outputs instead.
struct hinge {
  static constexpr std::string_view kind_name = "hinge";
  static constexpr layer_role role = layer_role::loss;
  static constexpr mask_use masks = mask_use::ends;
  static constexpr bool reads_mask = true;

  double weight = 1;
  bool sum_steps = false;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"weight", &hinge::weight}, field{"sum_steps", &hinge::sum_steps}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    return detail::infer_loss(inputs, weight, sum_steps);
  }
  constexpr target_spec target(std::span<shape const> inputs) const {
    return detail::numbers_like(inputs[0], sum_steps, -1, 1);
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return 2.0 * static_cast<double>(inputs[0].elements());
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::copy_input_to_output(a);
    detail::sum_loss(a, weight * detail::output_factor(a, sum_steps), [](T x, T target) {
      T const violation = target > 0 ? 1 - x : 1 + x;
      return violation > 0 ? violation : T(0);
    });
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    detail::differentiate_loss(a, weight * detail::output_factor(a, sum_steps), [](T x, T target) {
      T const sign = target > 0 ? T(1) : T(-1);
      return sign * x < 1 ? -sign : T(0);
    });
  }
};

extern template struct detail::host_kernels<hinge>;

}  // namespace cohort
