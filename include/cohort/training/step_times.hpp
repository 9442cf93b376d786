// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/chrono.hpp>

namespace cohort {

/// Start times of the phases of a step on this rank; each phase ends when the next one starts.
///
/// Units     times of this machine's steady clock. `data`: the wait for the batch. `prepare`: making contexts
///           for a new batch size, and the strategy's begin, which in the first step broadcasts rank 0's
///           parameters. `backward`: start on worker 0; equal to `forward` with several micro-batches.
///           `exchange`: all workers have computed their gradients. `after_update`: the parameters are
///           updated, and the strategy's after_update begins.
struct step_times {
  std::chrono::steady_clock::time_point data{}, prepare{}, forward{}, backward{}, exchange{}, update{},
      after_update{}, end{};
};

}  // namespace cohort
