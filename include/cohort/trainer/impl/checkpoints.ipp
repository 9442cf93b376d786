// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/trainer/checkpoints.hpp>
#include <cohort/trainer/detail/checkpoint_codec.hpp>

namespace cohort {

COHORT_CORE_INLINE std::string save_checkpoint(training& run, std::string const& directory, int keep) {
  return detail::checkpoint_codec(run.state()).save(directory, keep);
}

COHORT_CORE_INLINE std::optional<std::string> resume(training& run, std::string const& directory) {
  return detail::checkpoint_codec(run.state()).resume(directory);
}

}  // namespace cohort
