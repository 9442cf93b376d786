// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/trainer/training.hpp>
#include <csignal>
#include <vector>

namespace cohort {

/// Asks all ranks to stop at their next meeting when this process gets SIGTERM: a checkpoint_listener then saves, and fit
/// returns with `stopped`.
///
/// Order     as long as one lives (ranks in threads have one each) the process's action for SIGTERM is changed; a second
///           signal ends the process. The thread that makes one gets a stack for signals, and must end it: kernels of
///           oneDNN keep the stack pointer in memory that a handler's frame on the usual stack would overwrite.
class stop_on_signal final : public listener {
 public:
  stop_on_signal();
  stop_on_signal(stop_on_signal const&) = delete;
  ~stop_on_signal() override;

  void on_step(training& run, step_report const&) override;
  static bool arrived() { return arrived_; }

 private:
  // A signal is the process's: its handler reaches nothing else. It runs on the thread of one rank, others ask.
  static inline std::atomic<bool> arrived_ = false;
  static_assert(std::atomic<bool>::is_always_lock_free);
  static inline std::atomic<int> users_ = 0;
  static inline struct sigaction former_ {};

  std::vector<char> stack_;
  stack_t former_stack_{};
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/stop_on_signal.ipp>
#endif
