// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/chrono.hpp>
#include <cohort/plan/replica.hpp>
#include <cohort/strategy/detail/outer_optimizer.hpp>
#include <cohort/strategy/detail/weighted_sum.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace cohort::detail {

/// A mean of parameters that is pending while the ranks continue to train from the parameters that they sent.
///
/// Shapes    two arrays of the dense canonical view: the sent parameters, and the sum with votes.
/// Order     start, then finish or discard; repeatedly. The object must outlive each pending mean.
/// Exact     w ← g + (w − sent), where g is the mean after its outer step. If w has not changed since start,
///           the result has the bits of g.
class overlapped_mean {
 public:
  bool is_pending() const { return pending_; }
  /// Returns whether the mean has the type and size of the replica's parameters. A mean from a checkpoint may
  /// have another type or size.
  bool fits(replica const& mine) const;

  void start(communicator& world, replica const& mine, weighted_sum::contribution const& own,
             std::int64_t expected, votes const& wanted);

  /// Waits for the mean. Returns the time of its completion.
  std::chrono::steady_clock::time_point wait() { return sum_->wait(); }
  /// Waits for the mean and applies it to the trained elements of w. Returns the agreement of all ranks.
  agreement apply_to(replica const& mine, outer_optimizer& outer, std::byte* w);

  /// Applies the mean to the replica. Afterwards no mean is pending.
  agreement finish(replica const& mine, outer_optimizer& outer);
  /// Waits for the mean and ignores it.
  void discard();

  /// Waits for the sum; adds the sum, its votes and the sent parameters to a checkpoint.
  void save(strategy_state& all);
  void restore(strategy_state const& saved);

 private:
  buffer sent_;
  std::optional<weighted_sum> sum_;
  std::int64_t expected_ = 0;
  bool pending_ = false;
};

}  // namespace cohort::detail
