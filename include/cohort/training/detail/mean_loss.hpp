// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/text_table.hpp>
#include <cohort/training/listener.hpp>
#include <limits>
#include <optional>
#include <string>

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

/// Weighted mean of losses from their weighted sum; NaN without weight.
inline double mean_of_losses(double sum, double weight) {
  return weight > 0 ? sum / weight : std::numeric_limits<double>::quiet_NaN();
}

/// A loss for a line of text: "0.0588"; "none".
inline std::string loss_text(std::optional<double> loss) { return loss ? decimal_text(loss, 4) : "none"; }

}  // namespace cohort::detail
