// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/trainer/training.hpp>
#include <csignal>
#include <cstddef>
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
  stop_on_signal() : stack_(std::size_t{64} << 10) {
    stack_t own{};
    own.ss_sp = stack_.data();
    own.ss_size = stack_.size();
    ::sigaltstack(&own, &former_stack_);
    if (users_.fetch_add(1) > 0) return;
    arrived_ = false;
    struct sigaction action {};
    action.sa_handler = [](int) { arrived_ = true; };
    action.sa_flags = SA_RESTART | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
    ::sigaction(SIGTERM, &action, &former_);
  }
  stop_on_signal(stop_on_signal const&) = delete;
  ~stop_on_signal() override {
    if (users_.fetch_sub(1) == 1) ::sigaction(SIGTERM, &former_, nullptr);
    ::sigaltstack(&former_stack_, nullptr);
  }

  void on_step(training& run, step_report const&) override {
    if (arrived_) run.request({.stop = true});
  }
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
