// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/layer/softmax_cross_entropy.hpp>

namespace cohort {

/// How far a softmax is from a distribution: the loss in training, probabilities at inference.
///
/// Shapes    input: one logit a class; target: a distribution over the classes; output: probabilities.
/// Units     targets: probabilities, in [0, 1]. `weight` of this loss among several.
/// After     loss = mean over examples of Σ target·log(target/p), 0·log 0 = 0; the gradient is softmax_cross_entropy's,
///           as the loss is, less the target's entropy.
/// Source    DL4J LossKLD behind a softmax; PyTorch kl_div(log_softmax(x), target), reduction batchmean.
struct kullback_leibler {
  static constexpr std::string_view kind_name = "kullback_leibler";
  static constexpr layer_role role = layer_role::loss;

  double weight = 1;
  std::string_view name{};
  source at = source::here();

  static constexpr auto fields() { return std::tuple{field{"weight", &kullback_leibler::weight}}; }
  constexpr inference infer(std::span<shape const> inputs) const { return entropy().infer(inputs); }
  constexpr target_spec target(std::span<shape const> inputs) const {
    return {.numbers = true, .values = inputs[0], .lowest = 0, .highest = 1};
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return 6.0 * static_cast<double>(inputs[0].elements());
  }

  template <class T>
  void forward(host_arguments<T> const& a) const {
    entropy().forward(a);
    if (!a.loss) return;
    double const crossed = a.loss->sum;
    detail::sum_loss(a, weight, [](T, T wanted) { return wanted > 0 ? wanted * std::log(wanted) : T(0); });
    a.loss->sum += crossed;
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    entropy().backward(a);
  }

 private:
  constexpr softmax_cross_entropy entropy() const { return {.weight = weight, .at = at}; }
};

}  // namespace cohort
