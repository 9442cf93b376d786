// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/plan/replica.hpp>
#include <cohort/strategy/detail/outer_optimizer.hpp>
#include <cohort/strategy/detail/weighted_sum.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace cohort::detail {

/// A mean of parameters that is under way while ranks train on from what they have sent.
///
/// Shapes    the dense canonical view, twice: what was sent, and what comes back, with votes.
/// Order     start, then hear or drop; again. Its memory must live until then.
/// Exact     w ← g + (w − sent), g being the mean after its outer step: where nothing was learnt meanwhile, g's bits.
class overlapped_mean {
 public:
  bool is_pending() const { return pending_; }
  /// Whether it is one of such a replica's parameters: a checkpoint's may be of other elements.
  bool fits(replica const& mine) const;

  void start(communicator& world, replica const& mine, weighted_sum::contribution const& own, std::int64_t expected,
             votes const& wanted);

  /// Returns when the mean was complete.
  std::chrono::steady_clock::time_point wait() { return sum_->wait(); }
  /// Waits for the mean, brings it into the trained elements of w, and gives what was voted.
  agreement apply_to(replica const& mine, outer_optimizer& outer, std::byte* w);

  /// The same for the replica; nothing is under way afterwards.
  agreement finish(replica const& mine, outer_optimizer& outer);
  /// Waits for it, and leaves it there.
  void discard();

  /// For a checkpoint: what was sent, and the sum with its votes, which is waited for.
  void save(strategy_state& all);
  void restore(strategy_state const& saved);

 private:
  buffer sent_;
  std::optional<weighted_sum> sum_;
  std::int64_t expected_ = 0;
  bool pending_ = false;
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/strategy/impl/overlapped_mean.ipp>
#endif
