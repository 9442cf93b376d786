// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/strategy/detail/saved_values.hpp>
#include <cohort/strategy/detail/statistics_mean.hpp>
#include <cohort/strategy/detail/unsynced_statistics.hpp>
#include <cohort/tensor/buffer.hpp>

namespace cohort::detail {

COHORT_CORE_INLINE void unsynced_statistics::follow(step_info const& now, int examples) {
  ++steps_;
  seen_ += examples;
  expected_ += now.expected;
}

COHORT_CORE_INLINE void unsynced_statistics::merge(communicator& world, replica const& mine,
                                                   std::byte* dense) const {
  merge_statistics(world, mine, dense, seen_, expected_);
}

COHORT_CORE_INLINE void unsynced_statistics::synchronise(communicator& world, replica const& mine) {
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

COHORT_CORE_INLINE void unsynced_statistics::tell(strategy_state& to) const {
  to.counts.insert(to.counts.end(), {{"statistics apart", steps_}, {"seen", seen_}, {"expected", expected_}});
}

COHORT_CORE_INLINE void unsynced_statistics::restore(strategy_state const& saved) {
  steps_ = count_of(saved, "statistics apart", 0);
  seen_ = count_of(saved, "seen", 0);
  expected_ = count_of(saved, "expected", 0);
}

}  // namespace cohort::detail
