// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/plan/replica.hpp>
#include <cohort/strategy/detail/saved_values.hpp>
#include <cohort/strategy/detail/statistics_mean.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/tensor/buffer.hpp>
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
  void follow(step_info const& now, int examples) {
    ++steps_;
    seen_ += examples;
    expected_ += now.expected;
  }

  /// In `dense`, all parameters, where this rank's own stand.
  void merge(communicator& world, replica const& mine, std::byte* dense) const {
    merge_statistics(world, mine, dense, seen_, expected_);
  }
  /// In the replica.
  void synchronise(communicator& world, replica const& mine) {
    buffer const dense(mine.bytes());
    mine.read(0, dense.data());
    merge(world, mine, dense.data());
    each_statistic(mine.parameters, [&](int p, parameter const& one) {
      mine.parameters.write(
          p, dense.data() + static_cast<std::size_t>(one.first) * bytes_of(mine.parameters.type()),
          mine.parameters.master());
    });
    mine.parameters.changed();
    forget();
  }

  void tell(strategy_state& to) const {
    to.counts.insert(to.counts.end(),
                     {{"statistics apart", steps_}, {"seen", seen_}, {"expected", expected_}});
  }
  void restore(strategy_state const& saved) {
    steps_ = count_of(saved, "statistics apart", 0);
    seen_ = count_of(saved, "seen", 0);
    expected_ = count_of(saved, "expected", 0);
  }
  void forget() { steps_ = seen_ = expected_ = 0; }

 private:
  std::int64_t steps_ = 0;     // since all had the same
  std::int64_t seen_ = 0;      // examples of this rank since then
  std::int64_t expected_ = 0;  // of all ranks
};

}  // namespace cohort::detail
