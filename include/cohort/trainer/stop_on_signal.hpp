// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/trainer/training.hpp>
#include <csignal>

namespace cohort {

/// Asks all ranks to stop at their next meeting when this process gets SIGTERM: a checkpoint_listener then saves, and fit
/// returns with `stopped`.
///
/// Order     as long as one lives (ranks in threads have one each) the process's action for SIGTERM is changed; a second
///           signal ends the process. The signal is handled on a stack of its own, which the thread that makes the first
///           one gets: kernels of oneDNN keep the stack pointer in memory that a handler's frame would overwrite.
class stop_on_signal final : public listener {
 public:
  stop_on_signal() {
    if (users_.fetch_add(1) > 0) return;
    arrived_ = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { arrived_ = 1; };
    action.sa_flags = SA_RESTART | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
    stack_t own{};
    own.ss_sp = stack_;
    own.ss_size = sizeof stack_;
    ::sigaltstack(&own, &former_stack_);
    ::sigaction(SIGTERM, &action, &former_);
  }
  stop_on_signal(stop_on_signal const&) = delete;
  ~stop_on_signal() override {
    if (users_.fetch_sub(1) > 1) return;
    ::sigaction(SIGTERM, &former_, nullptr);
    stack_t current{};
    if (::sigaltstack(nullptr, &current) == 0 && current.ss_sp == stack_)
      ::sigaltstack(&former_stack_, nullptr);
  }

  void on_step(training& run, step_report const&) override {
    if (arrived_) run.request({.stop = true});
  }
  static bool arrived() { return arrived_ != 0; }

 private:
  // A signal is the process's: its handler reaches nothing else.
  static inline std::sig_atomic_t volatile arrived_ = 0;
  static inline std::atomic<int> users_ = 0;
  static inline struct sigaction former_ {};
  static inline stack_t former_stack_{};
  alignas(64) static inline char stack_[64 << 10]{};
};

}  // namespace cohort
