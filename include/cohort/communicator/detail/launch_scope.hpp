// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cohort::detail {

/// Number of ranks of the launch whose body runs on this thread; 1 outside a launch.
[[gnu::visibility("default")]] inline thread_local int launched_ranks = 1;

/// Marks the thread as a rank of a launch of `ranks` ranks.
struct launch_scope {
  explicit launch_scope(int ranks) : before(launched_ranks) { launched_ranks = ranks; }
  launch_scope(launch_scope const&) = delete;
  ~launch_scope() { launched_ranks = before; }

  int before;
};

}  // namespace cohort::detail
