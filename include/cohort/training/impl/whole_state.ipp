// SPDX-License-Identifier: Apache-2.0
#include <cohort/training/detail/whole_state.hpp>

namespace cohort::detail {

whole_state::whole_state(training_state& run, bool on_all_ranks) {
  parameter_update& update = run.update();
  parameter_set const& parameters = run.parameters();
  bool const is_copied = on_all_ranks || run.world->rank() == 0;
  for (int k = 0; k < update.state_arrays(); ++k) {
    std::byte* array = update.state(k);
    if (!update.is_whole(k)) {
      array = is_copied ? copies_.emplace_back(parameters.arena_bytes()).data() : nullptr;
      if (array) update.fill_initial(k, array);
      run.exchange_strategy->shard_ranks()->collect(parameters, update.state(k), array, on_all_ranks);
    }
    if (is_copied || !update.is_sharded()) arrays_.push_back(array);
  }
}

}  // namespace cohort::detail
