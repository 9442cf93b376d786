// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/layer/detail/loss.hpp>

namespace cohort {

/// Binary cross-entropy of logits, one binary decision per logit. The output is the probability p = σ(x).
///
/// Shapes    input: logits of any shape; target and output: the same shape.
/// Units     targets: probabilities in [0, 1]. `weight`: factor of this loss in the sum of all losses.
/// After     loss = mean over examples of (1/outputs)·Σ −(target·log p + (1 − target)·log(1 − p)); gradient
///           (p − target)/(outputs·count), with count examples in the batch.
///           A sequence T×C has T steps of C outputs. With a mask: mean over the unmasked steps of the whole
///           batch. `sum_steps`: sum over the steps of an example instead of their mean.
/// Exact     the loss is computed from the logits as log(1 + e^−|x|) + |x|·d, where d = 1 − target if x > 0,
///           else target. This formula does not overflow and has full precision for large |x|. For an
///           infinite logit of the correct sign, the loss is 0.
/// Source    PyTorch binary_cross_entropy_with_logits (mean over outputs); DL4J LossBinaryXENT uses the sum
///           over outputs.
struct binary_cross_entropy {
  static constexpr std::string_view kind_name = "binary_cross_entropy";
  static constexpr layer_role role = layer_role::loss;
  static constexpr mask_use masks = mask_use::ends;
  static constexpr bool reads_mask = true;
  static constexpr std::string_view applies = "sigmoid";

  double weight = 1;
  bool sum_steps = false;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"weight", &binary_cross_entropy::weight},
                      field{"sum_steps", &binary_cross_entropy::sum_steps}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    return detail::infer_loss(inputs, weight, sum_steps);
  }
  constexpr target_spec target(std::span<shape const> inputs) const {
    return detail::numbers_like(inputs[0], sum_steps, 0, 1);
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return 6.0 * static_cast<double>(inputs[0].elements());
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::write_sigmoids(a);
    detail::sum_loss(a, weight * detail::output_factor(a, sum_steps), [](T x, T target) {
      T const distance = x > 0 ? 1 - target : target, size = std::abs(x);
      return std::log1p(std::exp(-size)) + (distance > 0 ? distance * size : T(0));
    });
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    detail::differentiate_loss(a, weight * detail::output_factor(a, sum_steps),
                               [](T p, T target) { return p - target; });
  }
};

extern template struct detail::host_kernels<binary_cross_entropy>;

}  // namespace cohort
