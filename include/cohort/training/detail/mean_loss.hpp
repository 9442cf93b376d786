// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/text_table.hpp>
#include <cohort/training/listener.hpp>
#include <limits>
#include <optional>
#include <string>

namespace cohort::detail {

/// Weighted mean of the losses of steps. Like an epoch's loss, this mean omits steps that were not finite.
class mean_loss {
 public:
  void add(step_report const& done) {
    if (!(done.weight > 0)) return;
    sum_ += done.loss * done.weight;
    weight_ += done.weight;
  }
  /// The mean; nullopt if no step had a weight.
  std::optional<double> value() const { return weight_ > 0 ? std::optional(sum_ / weight_) : std::nullopt; }

 private:
  double sum_ = 0, weight_ = 0;
};

/// Weighted mean of losses from their weighted sum; NaN without weight.
inline double mean_of_losses(double sum, double weight) {
  return weight > 0 ? sum / weight : std::numeric_limits<double>::quiet_NaN();
}

/// Formats a loss: "0.0588", or "none" if there is no loss.
inline std::string loss_text(std::optional<double> loss) { return loss ? decimal_text(loss, 4) : "none"; }

}  // namespace cohort::detail
