// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/strategy/strategy.hpp>
#include <cstdint>

namespace cohort::detail {

/// Requests of this rank on which the ranks have not yet agreed, and the number of the last meeting that this
/// rank has evaluated.
class vote_state {
 public:
  /// Adds the requests in `wanted` to this rank's next vote. Thread-safe.
  void request(votes const& wanted);
  /// Returns this rank's vote in the next step.
  votes requested() const;
  /// Clears the requests on which the ranks have agreed. A request to save is cleared after any agreement.
  void clear(votes const& agreed);

  /// Returns whether `met` is a meeting that this rank has not evaluated yet, and marks it as evaluated.
  bool advance_to(agreement const& met);
  /// The next strategy counts its meetings from 0.
  void restart() { meetings_ = 0; }
  /// Number of the last meeting that was evaluated.
  std::int64_t meetings() const { return meetings_; }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<bool> save_{false};
  std::int64_t meetings_ = 0;
};

}  // namespace cohort::detail
