// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/trainer/detail/sigterm_state.hpp>
#include <cohort/trainer/stop_on_signal.hpp>
#include <cstddef>

namespace cohort {

COHORT_CORE_INLINE stop_on_signal::stop_on_signal() {
  stack_t stack{};
  ::sigaltstack(nullptr, &stack);
  if (stack.ss_flags & SS_DISABLE) {
    stack_.resize(std::size_t{64} << 10);
    stack = {.ss_sp = stack_.data(), .ss_flags = 0, .ss_size = stack_.size()};
    ::sigaltstack(&stack, nullptr);
  }
  std::lock_guard const lock(detail::sigterm.mutex);
  if (detail::sigterm.users++ > 0) return;
  detail::sigterm.arrived = false;
  struct sigaction action {};
  action.sa_handler = [](int) { detail::sigterm.arrived = true; };
  action.sa_flags = SA_RESTART | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGTERM, &action, &detail::sigterm.former);
}

COHORT_CORE_INLINE stop_on_signal::~stop_on_signal() {
  {
    std::lock_guard const lock(detail::sigterm.mutex);
    if (--detail::sigterm.users == 0) ::sigaction(SIGTERM, &detail::sigterm.former, nullptr);
  }
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  if (!stack_.empty()) ::sigaltstack(&none, nullptr);
}

COHORT_CORE_INLINE bool stop_on_signal::arrived() { return detail::sigterm.arrived; }

COHORT_CORE_INLINE void stop_on_signal::on_step(training& run, step_report const&) {
  if (arrived()) run.request({.stop = true});
}

}  // namespace cohort
