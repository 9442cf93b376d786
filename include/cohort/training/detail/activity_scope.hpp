// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cstdint>

namespace cohort::detail {

/// Records, while it exists, an activity of this rank other than updates. Stall reports of ranks that wait
/// for this rank then name the activity.
class activity_scope {
 public:
  activity_scope(training_state const& run, rank_progress::activity what)
      : world_(*run.world), last_step_(run.position.step - 1) {
    world_.note({.step = last_step_, .doing = what});
  }
  ~activity_scope() { world_.note({.step = last_step_}); }
  activity_scope(activity_scope const&) = delete;
  activity_scope& operator=(activity_scope const&) = delete;

 private:
  communicator& world_;
  std::int64_t last_step_;
};

}  // namespace cohort::detail
