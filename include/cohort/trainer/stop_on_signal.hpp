// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/trainer/training.hpp>
#include <csignal>
#include <vector>

namespace cohort {

/// Stops all ranks at their next meeting after this process receives SIGTERM: a checkpoint_listener then
/// saves, and fit returns with `stopped`.
///
/// Order     replaces the process's action for SIGTERM while at least one object exists (one per rank if
///           ranks are threads); a second signal ends the process. The constructor installs an alternate
///           signal stack on its thread; the destructor must run on the same thread. The alternate stack is
///           needed because oneDNN's kernels save the stack pointer in memory that a handler's frame on the
///           normal stack would overwrite.
class stop_on_signal final : public listener {
 public:
  stop_on_signal();
  stop_on_signal(stop_on_signal const&) = delete;
  ~stop_on_signal() override;

  void on_step(training& run, step_report const&) override;
  /// Whether SIGTERM was received.
  static bool arrived() { return arrived_; }

 private:
  // Static: the handler has no access to an object, and the signal may arrive on any thread.
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
