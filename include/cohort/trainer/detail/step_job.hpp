// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch.hpp>
#include <cohort/plan/parameter_update.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/trainer/detail/late_update.hpp>
#include <cohort/trainer/detail/worker_contexts.hpp>
#include <cohort/trainer/step_times.hpp>

namespace cohort::detail {

/// What the workers of a rank work on.
struct step_job {
  batch const* data = nullptr;
  work_kind kind{};
  int pieces = 1;
  int rounds = 0;  ///< of sums over workers and ranks
  step_info now{};
  strategy* agree = nullptr;
  parameter_update* update = nullptr;
  bool exchanges = false;
  bool takes = true;
  late_update before{};  ///< of the step before
  step_times times{};    ///< of worker 0
};

/// What a step has come to on this rank.
///
/// Units     `loss` is Σ over its examples, weighted; `exchange_seconds` those in which it waited for other ranks.
struct step_outcome {
  double loss = 0;
  bool updated = false;
  bool finite = true;      ///< of this rank's losses and gradients, and of what was exchanged
  bool all_finite = true;  ///< of what was exchanged: the same on every rank
  double exchange_seconds = 0;
  step_times times{};
};

}  // namespace cohort::detail
