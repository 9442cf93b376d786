// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/loss.hpp>

namespace cohort {

/// The distance to the right side of a margin of 1, as in support vector machines.
///
/// Shapes    input, target and output (the input as it is): any, the same; each output decides one question.
/// Units     targets lie in [−1, 1]; above 0 is yes, all else no: labels −1/+1 and 0/1 mean the same. `weight` of this loss
///           among several.
/// After     loss = mean over examples of (1/outputs)·Σ max(0, 1 − s·x), s = +1 for yes and −1 for no; gradient
///           −s/(outputs·count) inside the margin, 0 outside and on it.
/// Source    Keras hinge (0/1 labels become −1/+1); DL4J LossHinge sums over the outputs instead.
struct hinge {
  static constexpr std::string_view kind_name = "hinge";
  static constexpr layer_role role = layer_role::loss;

  double weight = 1;
  std::string_view name{};
  source at = source::here();

  static constexpr auto fields() { return std::tuple{field{"weight", &hinge::weight}}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    return detail::infer_loss(inputs, weight);
  }
  constexpr target_spec target(std::span<shape const> inputs) const {
    return {.numbers = true, .values = inputs[0], .lowest = -1, .highest = 1};
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return 2.0 * static_cast<double>(inputs[0].elements());
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::output_is_input(a);
    detail::sum_loss(a, weight * detail::one_output(a), [](T x, T wanted) {
      T const outside = wanted > 0 ? 1 - x : 1 + x;
      return outside > 0 ? outside : T(0);
    });
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    detail::differentiate_loss(a, weight * detail::one_output(a), [](T x, T wanted) {
      T const side = wanted > 0 ? T(1) : T(-1);
      return side * x < 1 ? -side : T(0);
    });
  }
};

}  // namespace cohort
