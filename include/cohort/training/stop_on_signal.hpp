// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/training/training.hpp>
#include <csignal>
#include <vector>

namespace cohort {

/// Stops all ranks at their next meeting after this process receives SIGTERM or SIGINT: a checkpoint_listener
/// then saves, and fit returns with `stopped`. If the ranks may change, SIGTERM makes only this rank leave,
/// after its step (elastic_communicator::leave), unless too few ranks would be left.
///
/// Order     while at least one object exists (one per rank if ranks are threads), these objects replace the
///           process's action for each signal that is not ignored. All copies of Cohort in the process's
///           shared libraries share one action. A second signal of the same number more than 500 ms later
///           ends the process. If the constructor's thread has no alternate signal stack, the constructor
///           installs one; the destructor must run on the same thread. oneDNN's kernels need this stack,
///           because they save the stack pointer in memory that a handler's frame on the normal stack would
///           overwrite.
class stop_on_signal final : public listener {
 public:
  stop_on_signal();
  stop_on_signal(stop_on_signal const&) = delete;
  ~stop_on_signal() override;

  void on_step(training& run, step_report const&) override;
  /// Returns whether one of the signals was received.
  static bool arrived();

 private:
  std::vector<char> stack_{};  ///< alternate signal stack; empty if the thread already had one
};

}  // namespace cohort
