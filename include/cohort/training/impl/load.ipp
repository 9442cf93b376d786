// SPDX-License-Identifier: Apache-2.0
#include <cohort/training/detail/model_transfer.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/load.hpp>

namespace cohort::detail {

void load_preparation(training& run, model_file const& from) {
  run.state().preparation = preparation_in(from, run.network());
}

}  // namespace cohort::detail
