// SPDX-License-Identifier: Apache-2.0
#include <cohort/training/checkpoints.hpp>
#include <cohort/training/detail/checkpoint_codec.hpp>

namespace cohort {

std::string save_checkpoint(training& run, std::string const& directory, int keep) {
  return detail::checkpoint_codec(run.state()).save(directory, keep);
}

std::optional<std::string> resume(training& run, std::string const& directory) {
  return detail::checkpoint_codec(run.state()).resume(directory);
}

}  // namespace cohort
