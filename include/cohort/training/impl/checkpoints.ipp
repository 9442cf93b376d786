// SPDX-License-Identifier: Apache-2.0
#include <cohort/training/checkpoints.hpp>
#include <cohort/training/detail/checkpoint_codec.hpp>

namespace cohort {

std::string save_checkpoint(training& run, std::string const& directory, int keep,
                            std::chrono::seconds max_age) {
  return detail::checkpoint_codec(run.state()).save({directory, keep, max_age});
}

std::optional<std::string> resume(training& run, std::string const& directory) {
  run.state().checkpoints.wait_for_ranks(run.world(), "resume");
  return detail::checkpoint_codec(run.state()).resume(directory);
}

}  // namespace cohort
