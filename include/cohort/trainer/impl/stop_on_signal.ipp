// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/trainer/stop_on_signal.hpp>
#include <cstddef>

namespace cohort {

COHORT_CORE_INLINE stop_on_signal::stop_on_signal() : stack_(std::size_t{64} << 10) {
  stack_t stack{};
  stack.ss_sp = stack_.data();
  stack.ss_size = stack_.size();
  ::sigaltstack(&stack, &former_stack_);
  if (users_.fetch_add(1) > 0) return;
  arrived_ = false;
  struct sigaction action {};
  action.sa_handler = [](int) { arrived_ = true; };
  action.sa_flags = SA_RESTART | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGTERM, &action, &former_);
}

COHORT_CORE_INLINE stop_on_signal::~stop_on_signal() {
  if (users_.fetch_sub(1) == 1) ::sigaction(SIGTERM, &former_, nullptr);
  ::sigaltstack(&former_stack_, nullptr);
}

COHORT_CORE_INLINE void stop_on_signal::on_step(training& run, step_report const&) {
  if (arrived_) run.request({.stop = true});
}

}  // namespace cohort
