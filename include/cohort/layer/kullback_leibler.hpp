// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/layer/softmax_cross_entropy.hpp>

namespace cohort {

/// Kullback–Leibler divergence of a target distribution from the softmax p of the logits. The output is p.
///
/// Shapes    input: one logit per class; target: a distribution over the classes; output: probabilities.
/// Units     targets: probabilities in [0, 1]. `weight`: factor of this loss in the sum of all losses.
/// After     loss = mean over examples of Σ target·log(target/p), with 0·log 0 = 0. This is
///           softmax_cross_entropy minus the entropy of the target, so both have the same gradient.
/// Source    DL4J LossKLD after a softmax; PyTorch kl_div(log_softmax(x), target), reduction batchmean.
struct kullback_leibler {
  static constexpr std::string_view kind_name = "kullback_leibler";
  static constexpr layer_role role = layer_role::loss;

  double weight = 1;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return std::tuple{field{"weight", &kullback_leibler::weight}}; }
  constexpr inference infer(std::span<shape const> inputs) const { return cross_entropy().infer(inputs); }
  constexpr target_spec target(std::span<shape const> inputs) const {
    return {.numbers = true, .values = inputs[0], .lowest = 0, .highest = 1};
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return 6.0 * static_cast<double>(inputs[0].elements());
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    cross_entropy().forward(a);
    if (!a.loss) return;
    double const cross_entropy_sum = a.loss->sum;
    detail::sum_loss(a, weight, [](T, T target) { return target > 0 ? target * std::log(target) : T(0); });
    a.loss->sum += cross_entropy_sum;
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    cross_entropy().backward(a);
  }

 private:
  constexpr softmax_cross_entropy cross_entropy() const { return {.weight = weight, .at = at}; }
};

}  // namespace cohort
