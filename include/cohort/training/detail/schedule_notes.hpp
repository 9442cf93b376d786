// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/training/settings.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cohort::detail {

/// Steps and epochs of a run when a call of fit ends. `steps`: unknown for a stream.
struct run_extent {
  std::optional<std::int64_t> steps{};
  std::int64_t epochs = 0;
};

/// Note about a schedule that does not end when the run ends.
struct schedule_note {
  std::string subject;  ///< "the schedule one_cycle of the rate"
  std::string text;     ///< subject, both ends, and what to set
};

/// Returns a note for each schedule of a rate or momentum that does not end within the run. Also returns a
/// note for each decay (polynomial, cosine without restarts, one_cycle) that ends in the first half of the
/// run.
std::vector<schedule_note> schedule_notes(training_settings const& settings, run_extent const& run);

}  // namespace cohort::detail
