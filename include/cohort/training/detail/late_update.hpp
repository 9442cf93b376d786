// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/chrono.hpp>
#include <cohort/plan/gradient_parts.hpp>
#include <cohort/plan/parameter_update.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/training/settings.hpp>

namespace cohort::detail {

/// Returns the number of buckets, from the first one on, that may be late. These are the fewest buckets, from
/// the last layers, that hold at least half of the exchanged elements.
///
/// Returns 0 in these cases:
/// - one of the buckets contains the first layer, which forward needs at once;
/// - the arenas are on a device;
/// - without a shard: the update cannot process ranges of parameters, or steps with numbers that are not
///   finite are skipped;
/// - with a shard: there are constraints, or a moving average of the parameters;
/// - layers sum over the batch, because these sums have separate barriers.
int late_buckets(parameter_set const& parameters, parameter_update const& update, when_not_finite otherwise,
                 bool synchronised);

/// The late parts of a step: the exchange of its late buckets and the update of their parameters; with a
/// shard, only the gathering of their parameters. The late parts must be finished before the late parameters
/// are used.
class late_update {
 public:
  late_update() = default;  ///< no late parts
  late_update(strategy& exchange_strategy, int buckets, gradient_parts& gradients, parameter_update& update,
              step_info const& now);

  explicit operator bool() const { return exchange_strategy_ != nullptr; }
  strategy& exchange_strategy() const { return *exchange_strategy_; }
  int first_late() const { return request_.which.first; }
  /// The parameters that are not late.
  parameter_range not_late() const {
    return exchange_strategy_ ? parameter_range{.last = first_late()} : parameter_range();
  }

  /// Finishes one worker's share of the late parts. `wait`: a barrier of all workers. `waited`: worker 0 adds
  /// the seconds that it waits for other ranks.
  ///
  /// After     the late parameters and their working copies for training are updated.
  /// Errors    those of the strategy; numeric_error, the same on all ranks, if a sum of finite terms is not
  ///           finite.
  template <class Wait>
  void finish(parameter_set& parameters, int worker, int workers, double& waited, Wait wait) const {
    update_request mine = request_;
    mine.worker = worker;
    mine.workers = workers;
    if (worker == 0) {
      auto const begin = std::chrono::steady_clock::now();
      exchange_strategy_->finish_late(*gradients_);
      waited += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (!update_->is_sharded()) require_finite(parameters);
    }
    wait();
    if (!update_->is_sharded()) update_->run(mine, wait);
    if (worker == 0) gradients_->statistics().follow(parameters, mine.which);
    wait();
    parameters.refresh(worker, workers, mine.which);
    wait();
  }

 private:
  void require_finite(parameter_set const& parameters) const;

  strategy* exchange_strategy_ = nullptr;
  gradient_parts* gradients_ = nullptr;
  parameter_update* update_ = nullptr;
  update_request request_{};
};

}  // namespace cohort::detail
