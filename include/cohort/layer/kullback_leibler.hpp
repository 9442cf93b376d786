// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/layer/softmax_cross_entropy.hpp>

namespace cohort {

/// Kullback–Leibler divergence of a target distribution from the softmax p of the logits. The output is p.
///
/// Shapes    input: one logit per class, C or T×C; target: a distribution over the classes, per example or
///           per step; output: probabilities.
/// Units     targets: probabilities in [0, 1]. `weight`: factor of this loss in the sum of all losses.
///           `sum_steps`: as softmax_cross_entropy.
/// After     loss = mean over examples of Σ target·log(target/p), with 0·log 0 = 0. This is
///           softmax_cross_entropy minus the entropy of the target, so both have the same gradient.
/// Source    DL4J LossKLD after a softmax; PyTorch kl_div(log_softmax(x), target), reduction batchmean.
struct kullback_leibler {
  static constexpr std::string_view kind_name = "kullback_leibler";
  static constexpr layer_role role = layer_role::loss;
  static constexpr mask_use masks = mask_use::ends;
  static constexpr bool reads_mask = true;

  double weight = 1;
  bool sum_steps = false;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"weight", &kullback_leibler::weight},
                      field{"sum_steps", &kullback_leibler::sum_steps}};
  }
  constexpr inference infer(std::span<shape const> inputs) const { return cross_entropy().infer(inputs); }
  constexpr target_spec target(std::span<shape const> inputs) const {
    return detail::numbers_like(inputs[0], sum_steps, 0, 1);
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return 6.0 * static_cast<double>(inputs[0].elements());
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    cross_entropy().forward(a);
    if (!a.loss) return;
    double const cross_entropy_sum = a.loss->sum;
    detail::sum_loss(a, weight * detail::step_factor(a, sum_steps),
                     [](T, T target) { return target > 0 ? target * std::log(target) : T(0); });
    a.loss->sum += cross_entropy_sum;
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    cross_entropy().backward(a);
  }

 private:
  constexpr softmax_cross_entropy cross_entropy() const {
    return {.weight = weight, .sum_steps = sum_steps, .at = at};
  }
};

extern template struct detail::host_kernels<kullback_leibler>;

}  // namespace cohort
