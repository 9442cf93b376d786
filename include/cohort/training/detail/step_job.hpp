// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch_view.hpp>
#include <cohort/plan/parameter_update.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/training/detail/late_update.hpp>
#include <cohort/training/detail/worker_contexts.hpp>
#include <cohort/training/step_times.hpp>

namespace cohort::detail {

/// One step, as the workers of a rank process it.
struct step_job {
  batch_view const* data = nullptr;
  work_kind kind{};
  int micro_batches = 1;
  int rounds = 0;  ///< how often a worker takes part in layers' sums
  step_info now{};
  strategy* exchange_strategy = nullptr;
  parameter_update* update = nullptr;
  bool exchanges = false;  ///< whether the strategy exchanges gradients
  bool is_applied = true;  ///< whether before_update returned true
  late_update before{};    ///< deferred part of the previous step
  step_times times{};      ///< times of worker 0
};

/// Results of a step on this rank.
///
/// Units     `loss`: weighted sum over the examples. `exchange_seconds`: waits for other ranks.
struct step_outcome {
  double loss = 0;
  bool updated = false;
  bool finite = true;      ///< whether this rank's losses, gradients and the exchanged gradient are finite
  bool all_finite = true;  ///< whether the exchanged gradient is finite; the same on every rank
  double exchange_seconds = 0;
  step_times times{};
};

}  // namespace cohort::detail
