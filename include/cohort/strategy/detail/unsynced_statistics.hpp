// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/plan/replica.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cstddef>
#include <cstdint>

namespace cohort::detail {

/// Calls f(p, parameter) for the running statistics that training updates.
template <class F>
void for_each_statistic(parameter_set const& parameters, F f) {
  for (int p = 0; p < static_cast<int>(parameters.table().size()); ++p)
    if (parameter const& one = parameters.table()[static_cast<std::size_t>(p)];
        !is_trained(one.spec.role) && !one.frozen)
      f(p, one);
}

/// Returns whether training updates running statistics.
bool has_statistics(parameter_set const& parameters);

/// Running statistics that each rank updates from its own examples until the statistics are averaged over the
/// ranks.
///
/// Order     average and synchronise are collective.
class unsynced_statistics {
 public:
  /// Steps since all ranks last had the same statistics.
  std::int64_t steps() const { return steps_; }
  /// Counts a step in which `examples` examples of this rank have updated the statistics.
  void add_step(int examples);

  /// Replaces this rank's statistics with the statistics of all ranks' examples.
  ///
  /// Shapes    `dense`: all parameters of this rank, canonical.
  /// Before    rank r has seen m_r examples since all ranks last had the same statistics.
  /// After     the statistics are the mean of the means, and the mean of the variances plus the variance of
  ///           the means, weighted by m_r. If no rank has seen examples, the statistics are unchanged.
  /// Moves     as merge_statistics.
  void average(communicator& world, replica const& mine, std::byte* dense) const;
  /// Averages the statistics in the replica itself, and calls reset.
  void synchronise(communicator& world, replica const& mine);

  void save(strategy_state& to) const;
  void restore(strategy_state const& saved);
  /// Discards the number of examples. The statistics are those of another rank.
  void discard_examples() { seen_ = 0; }
  void reset() { steps_ = seen_ = 0; }

 private:
  std::int64_t steps_ = 0;
  std::int64_t seen_ = 0;  // number of this rank's examples in these steps
};

}  // namespace cohort::detail
