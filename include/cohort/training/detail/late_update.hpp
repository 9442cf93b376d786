// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/chrono.hpp>
#include <cohort/plan/gradient_parts.hpp>
#include <cohort/plan/parameter_update.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/training/settings.hpp>
#include <cstdint>

namespace cohort::detail {

/// Returns the number of buckets, from the first one on, whose allreduce may finish during the next forward.
/// These are the fewest buckets, from the last layers, that hold at least half of the exchanged elements.
///
/// Returns 0 in these cases:
/// - one of the buckets contains the first layer, which forward needs at once;
/// - the arenas are on a device;
/// - the update cannot process ranges of parameters;
/// - steps with numbers that are not finite are skipped;
/// - layers sum over the batch, because these sums have separate barriers.
int late_buckets(parameter_set const& parameters, parameter_update const& update, when_not_finite otherwise,
                 bool synchronised);

/// The deferred part of a step whose strategy left buckets pending. It must be finished before the parameters
/// of these buckets are used.
class late_update {
 public:
  late_update() = default;  ///< no pending buckets
  late_update(strategy& exchange_strategy, int buckets, gradient_parts& gradients, parameter_update& update,
              step_info const& now);

  explicit operator bool() const { return exchange_strategy_ != nullptr; }
  strategy& exchange_strategy() const { return *exchange_strategy_; }
  int first_parameter() const { return which_.first; }
  /// The parameters that the step has updated already.
  parameter_range early() const {
    return exchange_strategy_ ? parameter_range{.last = which_.first} : parameter_range();
  }

  /// Finishes one worker's share of the step. `wait`: a barrier of all workers. `waited`: worker 0 adds the
  /// seconds that it waits for other ranks.
  ///
  /// After     the deferred parameters and their working copies for training are updated.
  /// Errors    those of the strategy; numeric_error, the same on all ranks, if a sum of finite terms is not
  ///           finite.
  template <class Wait>
  void finish(parameter_set& parameters, int worker, int workers, double& waited, Wait wait) const {
    if (worker == 0) {
      auto const begin = std::chrono::steady_clock::now();
      exchange_strategy_->finish_pending(*gradients_);
      waited += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      require_finite(parameters);
    }
    wait();
    update_->run(worker, workers, gradients_->all(), step_, epoch_, wait, which_);
    if (worker == 0) gradients_->statistics().follow(parameters, which_);
    wait();
    parameters.refresh(worker, workers, which_);
    wait();
  }

 private:
  void require_finite(parameter_set const& parameters) const;

  strategy* exchange_strategy_ = nullptr;
  gradient_parts* gradients_ = nullptr;
  parameter_update* update_ = nullptr;
  std::int64_t step_ = 0;
  std::int64_t epoch_ = 0;
  parameter_range which_{};
};

}  // namespace cohort::detail
