// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace cohort {

class training;

/// What is known when a step is done.
///
/// Units     `loss` is the mean over the batch; `step` counts from 0 over all epochs; `step_seconds` is the step
///           without waiting for data, `wait_seconds` the wait before it.
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
};

/// What is known when an epoch is done. `loss` is the mean over its examples.
struct epoch_report {
  std::int64_t epoch = 0;
  std::int64_t epochs = 0;
  std::int64_t examples = 0;
  double loss = 0;
  double seconds = 0;
  double wait_seconds = 0;
};

/// Somebody who is told how training goes, the same under every strategy.
///
/// Order     called on the thread that called fit, while no worker runs: a listener may evaluate or save.
class listener {
 public:
  virtual ~listener() = default;
  virtual void on_step(training&, step_report const&) {}
  virtual void on_epoch(training&, epoch_report const&) {}
};

}  // namespace cohort
