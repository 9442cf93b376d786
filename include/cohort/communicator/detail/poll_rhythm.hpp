// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cohort/detail/chrono.hpp>

namespace cohort::detail {

/// Back-off of a thread that polls a transport. The thread polls often while another thread waits for an
/// operation. Otherwise the polling thread sleeps between polls, so that the computation can use the
/// processor. While no message is transferred, each nap is 1.5 times as long as the previous one. After a
/// message, naps are five times shorter. A nap is thus always a fraction of the time between two messages.
///
/// Source    measured: longer naps leave the link idle during a step, shorter ones slow the step down.
class poll_rhythm {
 public:
  /// Resets the back-off, because no operation is pending.
  void idle() { idle_polls_ = 0; }
  /// Records a poll: whether a message moved, and whether a thread waits for an operation.
  void after_poll(bool moved, bool awaited);
  /// Duration of the next nap; 0: no nap.
  std::chrono::microseconds nap(bool awaited) const;

 private:
  static constexpr int polls_without_nap = 50;  // number of polls before the first nap
  static constexpr int growths = 11;            // number of growths of a nap, up to 346 µs
  static constexpr int longest_awaited = 50;    // longest nap while a thread waits, in µs
  int idle_polls_ = 0;
};

}  // namespace cohort::detail
