// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace cohort {

/// Progress of training.
///
/// Units     `step` counts updates of the whole run, `epoch` finished epochs, and `position` the examples of
///           the current epoch that all ranks together have used. If each rank has its own examples,
///           `position` counts the examples of the rank with the most examples; for a stream, the examples of
///           this rank.
struct training_position {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::int64_t position = 0;
  constexpr bool operator==(training_position const&) const = default;
};

}  // namespace cohort
