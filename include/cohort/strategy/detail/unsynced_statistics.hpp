// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/plan/replica.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cstddef>
#include <cstdint>

namespace cohort::detail {

/// Running statistics that each rank moves by its own examples, until all take their mean.
///
/// Order     merge and synchronise are collective.
class unsynced_statistics {
 public:
  std::int64_t steps() const { return steps_; }
  /// After a step in which this rank's have been moved by so many examples.
  void follow(step_info const& now, int examples);

  /// In `dense`, all parameters, where this rank's own stand.
  void merge(communicator& world, replica const& mine, std::byte* dense) const;
  /// In the replica.
  void synchronise(communicator& world, replica const& mine);

  void tell(strategy_state& to) const;
  void restore(strategy_state const& saved);
  void forget() { steps_ = seen_ = expected_ = 0; }

 private:
  std::int64_t steps_ = 0;     // since all had the same
  std::int64_t seen_ = 0;      // examples of this rank since then
  std::int64_t expected_ = 0;  // of all ranks
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/strategy/impl/unsynced_statistics.ipp>
#endif
