// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/kind.hpp>

namespace cohort {

/// Softmax with negative log-likelihood: the loss in training, probabilities at inference.
///
/// Shapes    input: one logit a class; target: one class index (i32) an example; output: probabilities.
/// After     loss = mean over examples of −log p[target]; gradient of the logits (p − onehot(target))/count.
struct softmax_cross_entropy {
  static constexpr std::string_view kind_name = "softmax_cross_entropy";
  static constexpr layer_role role = layer_role::loss;

  std::string_view name{};
  source at = source::here();

  static constexpr auto fields() { return std::tuple{}; }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (inputs[0].rank != 1)
      return {"softmax needs one logit a class: put a dense layer before it", {"input", inputs[0]}};
    if (inputs[0][0] < 2) return {"softmax needs at least two classes", {"input", inputs[0]}};
    return inputs[0];
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return 4.0 * static_cast<double>(inputs[0].elements());
  }
};

}  // namespace cohort
