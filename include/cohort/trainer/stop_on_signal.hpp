// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/trainer/training.hpp>
#include <csignal>
#include <vector>

namespace cohort {

/// Stops all ranks at their next meeting after this process receives SIGTERM: a checkpoint_listener then
/// saves, and fit returns with `stopped`.
///
/// Order     replaces the process's action for SIGTERM while at least one object exists (one per rank if
///           ranks are threads), in all of its shared libraries; a second signal ends the process. If its
///           thread has no alternate signal stack, the constructor installs one; the destructor must run on
///           the same thread. oneDNN's kernels need it: they save the stack pointer in memory that a
///           handler's frame on the normal stack would overwrite.
class stop_on_signal final : public listener {
 public:
  stop_on_signal();
  stop_on_signal(stop_on_signal const&) = delete;
  ~stop_on_signal() override;

  void on_step(training& run, step_report const&) override;
  /// Whether SIGTERM was received.
  static bool arrived();

 private:
  std::vector<char> stack_{};  ///< of this thread; empty if it has another one
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/stop_on_signal.ipp>
#endif
