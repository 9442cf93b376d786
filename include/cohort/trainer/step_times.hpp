// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>

namespace cohort {

/// Start times of the phases of a step on this rank; each phase ends when the next one starts.
///
/// Units     times of this machine's steady clock. `data`: wait for the batch. `prepare`: contexts for a new
///           batch size; the strategy's begin, which in the first step broadcasts rank 0's parameters.
///           `backward`: on worker 0; equal to `forward` with several micro-batches. `exchange`: begins when
///           all workers have computed their gradients. `after_update`: begins when the parameters are
///           updated; the strategy's after_update.
struct step_times {
  std::chrono::steady_clock::time_point data{}, prepare{}, forward{}, backward{}, exchange{}, update{},
      after_update{}, end{};
};

}  // namespace cohort
