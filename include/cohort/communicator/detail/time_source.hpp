// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cohort/detail/chrono.hpp>

namespace cohort::detail {

/// Clock of a rank: the system's clock, or the virtual clock of a simulation.
class time_source {
 public:
  using clock = std::chrono::steady_clock;

  virtual ~time_source() = default;
  virtual clock::time_point now() = 0;
  /// Blocks the calling thread for this duration.
  virtual void let_pass(clock::duration time) = 0;
  /// Returns whether time passes only in let_pass and in waits. A loop without let_pass and waits would then
  /// never reach its deadline.
  virtual bool is_virtual() const { return false; }
};

/// The time of std::chrono::steady_clock.
time_source& system_time();

}  // namespace cohort::detail
