// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/trainer/listener.hpp>
#include <optional>

namespace cohort::detail {

/// Weighted mean of the losses of steps, without steps that were not finite, like the loss of an epoch.
class mean_loss {
 public:
  void add(step_report const& done) {
    if (!(done.weight > 0)) return;
    sum_ += done.loss * done.weight;
    weight_ += done.weight;
  }
  /// Empty without a step that has a weight.
  std::optional<double> value() const { return weight_ > 0 ? std::optional(sum_ / weight_) : std::nullopt; }

 private:
  double sum_ = 0, weight_ = 0;
};

}  // namespace cohort::detail
