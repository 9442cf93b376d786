// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>

namespace cohort {

/// When the parts of a step began on this rank; each ends where the next one begins.
///
/// Units     a clock of this machine. `prepare`: the strategy hears what others have sent, in the first step rank 0's
///           parameters; contexts are made where a batch has another size. `backward`: of worker 0; where a batch is taken in
///           pieces, as `forward`. `exchange`: the last worker has its gradient. `settle`: the parameters have taken the step.
struct step_times {
  std::chrono::steady_clock::time_point data{}, prepare{}, forward{}, backward{}, exchange{}, update{},
      settle{}, end{};
};

}  // namespace cohort
