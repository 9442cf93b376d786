// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/plan/gradient_parts.hpp>
#include <cohort/plan/parameter_update.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/trainer/settings.hpp>
#include <cstdint>

namespace cohort::detail {

/// The buckets, from the first one on, whose sums may end while the next forward runs: those of the last layers that have half of
/// what is exchanged, or more. 0: none, where the first layer would be among them, which forward needs at once; where arenas
/// lie on a device; where the update does not come apart; where steps are left out as a whole; and where layers sum over the
/// batch, between barriers of their own.
int late_buckets(parameter_set const& parameters, parameter_update const& update, when_not_finite otherwise,
                 bool synchronised);

/// The rest of a step whose strategy has left buckets under way: what is to be done before their parameters are used.
class late_update {
 public:
  late_update() = default;  ///< nothing
  late_update(strategy& agree, int buckets, gradient_parts& gradients, parameter_update& update,
              step_info const& now);

  explicit operator bool() const { return agree_ != nullptr; }
  strategy& agree() const { return *agree_; }
  int first_parameter() const { return which_.first; }
  /// Those that have taken the step.
  parameter_range early() const { return agree_ ? parameter_range{.last = which_.first} : parameter_range(); }

  /// Worker's share; wait() returns when every worker has called it as often. `waited`: worker 0 adds the seconds that it waits for
  /// other ranks.
  ///
  /// After     these parameters have taken the step, and training's copies of them are fresh.
  /// Errors    those of the strategy; numeric_error where a sum is not finite though its terms were: on all ranks alike.
  template <class Wait>
  void take(parameter_set& parameters, int worker, int workers, double& waited, Wait wait) const {
    if (worker == 0) {
      auto const begin = std::chrono::steady_clock::now();
      agree_->finish_pending(*gradients_);
      waited += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      require_finite(parameters);
    }
    wait();
    update_->take(worker, workers, gradients_->all(), step_, epoch_, wait, which_);
    wait();
    parameters.refresh(worker, workers, which_);
    wait();
  }

 private:
  void require_finite(parameter_set const& parameters) const;

  strategy* agree_ = nullptr;
  gradient_parts* gradients_ = nullptr;
  parameter_update* update_ = nullptr;
  std::int64_t step_ = 0;
  std::int64_t epoch_ = 0;
  parameter_range which_{};
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/late_update.ipp>
#endif
