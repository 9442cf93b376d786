// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>

namespace cohort {

/// When and by how much a factor on all rates falls because a loss has stopped falling.
///
/// Units     `patience`, `cooldown`: observations, say epochs; `threshold`: a share of the best loss; `least`: a factor.
/// Errors    check: setting_error naming the field.
struct reduce_on_plateau {
  double factor = 0.1;
  int patience = 10;
  double threshold = 1e-4;
  int cooldown = 0;
  double least = 0;

  constexpr bool operator==(reduce_on_plateau const&) const = default;

  void check() const;
};

/// What has been seen of a loss so far, and the factor on rates (update_scalars::rate_factor) that follows from it: a value
/// that a checkpoint can keep and ranks that see one loss agree on.
///
/// After     after(…): one loss more was seen. The factor falls when more than `patience` in a row were not better than the
///           best by `threshold`; the next `cooldown` do not count. A loss that is NaN is not better.
/// Source    ReduceLROnPlateau of Keras and PyTorch.
struct plateau {
  double best = std::numeric_limits<double>::max();
  int not_better = 0;
  int cooling = 0;
  double factor = 1;

  constexpr bool operator==(plateau const&) const = default;

  constexpr plateau after(double loss, reduce_on_plateau const& how) const {
    plateau now = *this;
    bool const better = loss < best * (1 - how.threshold);
    if (better) now.best = loss;
    now.not_better = better || cooling > 0 ? 0 : not_better + 1;
    if (cooling > 0) --now.cooling;
    if (now.not_better <= how.patience) return now;
    now.not_better = 0;
    now.cooling = how.cooldown;
    now.factor = factor * how.factor > how.least ? factor * how.factor : how.least;
    return now;
  }
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/optimizer/impl/plateau.ipp>
#endif
