// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <limits>

namespace cohort {

/// Settings for reducing all learning rates when a loss stops improving.
///
/// Units     `patience`, `cooldown`: observations, for example epochs.
/// Errors    check: setting_error that names the field.
struct reduce_on_plateau {
  double factor = 0.1;      ///< multiplies the rate factor at each reduction
  int patience = 10;        ///< tolerated number of observations in a row without improvement
  double threshold = 1e-4;  ///< smallest improvement, as a fraction of the best loss
  int cooldown = 0;         ///< observations after a reduction that do not count towards `patience`
  double least = 0;         ///< lower bound of the rate factor

  constexpr bool operator==(reduce_on_plateau const&) const = default;

  /// Throws if a setting is out of range.
  void check() const;
};

/// State of a plateau detector after the losses observed so far, with the resulting factor on learning rates
/// (update_scalars::rate_factor). Checkpoints store this state. All ranks that observe the same losses have
/// the same state.
///
/// Source    ReduceLROnPlateau of Keras and PyTorch.
struct plateau {
  double best = std::numeric_limits<double>::max();
  int not_better = 0;  ///< observations in a row without improvement
  int cooling = 0;     ///< remaining observations of the cooldown
  double factor = 1;   ///< multiplies all rates

  constexpr bool operator==(plateau const&) const = default;

  /// Returns the state after one more observation. The factor is reduced after more than `patience`
  /// observations in a row without an improvement by `threshold`; the next `cooldown` observations do not
  /// count towards `patience`. NaN is not an improvement.
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
