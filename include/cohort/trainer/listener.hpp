// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/strategy/strategy.hpp>
#include <cstdint>

namespace cohort {

class training;

/// What is known when a step is done.
///
/// Units     `examples` and `loss`, their mean, are this rank's; `step` counts from 0 over all epochs; `step_seconds` is
///           the step without waiting for data, `wait_seconds` the wait before it, `exchange_seconds` the part of the
///           step in which it waited for other ranks. `bytes_sent`: by this rank since the run began.
///           `steps_in_epoch` is −1 where the data set is a stream.
struct step_report {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::int64_t step_in_epoch = 0;
  std::int64_t steps_in_epoch = -1;
  int examples = 0;
  double loss = 0;
  double step_seconds = 0;
  double wait_seconds = 0;
  double exchange_seconds = 0;
  std::uint64_t bytes_sent = 0;
  int ranks = 1;
  bool updated = true;  ///< whether this rank's parameters have taken the step
};

/// What is known when an epoch is done. `examples`, Σ of their weights (1 each where they have none) and `loss`, their mean,
/// are those of all ranks, the seconds this rank's. Where a checkpoint had begun the epoch, weights and loss are of the whole.
struct epoch_report {
  std::int64_t epoch = 0;
  std::int64_t epochs = 0;
  std::int64_t steps = 0;
  std::int64_t examples = 0;
  double weight = 0;
  double loss = 0;
  double seconds = 0;
  double wait_seconds = 0;
  double exchange_seconds = 0;
};

/// Somebody who is told how training goes, the same under every strategy.
///
/// Order     called on the thread that called fit, in the same steps on every rank, while no worker runs: a listener may
///           evaluate or save, which all ranks do together.
class listener {
 public:
  virtual ~listener() = default;
  virtual void on_step(training&, step_report const&) {}
  virtual void on_epoch(training&, epoch_report const&) {}
  /// Somebody has asked for something (training::request), and all ranks have agreed on it.
  virtual void on_vote(training&, votes const&) {}
};

}  // namespace cohort
