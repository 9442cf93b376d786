// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/trainer/detail/stop_signals.hpp>
#include <cohort/trainer/stop_on_signal.hpp>
#include <cstddef>
#include <iterator>

namespace cohort {

COHORT_CORE_INLINE stop_on_signal::stop_on_signal() {
  stack_t stack{};
  ::sigaltstack(nullptr, &stack);
  if (stack.ss_flags & SS_DISABLE) {
    stack_.resize(std::size_t{64} << 10);
    stack = {.ss_sp = stack_.data(), .ss_flags = 0, .ss_size = stack_.size()};
    ::sigaltstack(&stack, nullptr);
  }
  detail::stop_signals& state = detail::stop_signals_of_process;
  std::lock_guard const lock(state.mutex);
  if (state.users++ > 0) return;
  state.arrived = false;
  struct sigaction action {};
  action.sa_handler = [](int) { detail::stop_signals_of_process.arrived = true; };
  action.sa_flags = SA_RESTART | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  for (std::size_t k = 0; k < std::size(state.numbers); ++k) {
    ::sigaction(state.numbers[k], nullptr, &state.former[k]);
    if (state.former[k].sa_handler != SIG_IGN) ::sigaction(state.numbers[k], &action, nullptr);
  }
}

COHORT_CORE_INLINE stop_on_signal::~stop_on_signal() {
  {
    detail::stop_signals& state = detail::stop_signals_of_process;
    std::lock_guard const lock(state.mutex);
    if (--state.users == 0)
      for (std::size_t k = 0; k < std::size(state.numbers); ++k)
        ::sigaction(state.numbers[k], &state.former[k], nullptr);
  }
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  if (!stack_.empty()) ::sigaltstack(&none, nullptr);
}

COHORT_CORE_INLINE bool stop_on_signal::arrived() { return detail::stop_signals_of_process.arrived; }

COHORT_CORE_INLINE void stop_on_signal::on_step(training& run, step_report const&) {
  if (arrived()) run.request({.stop = true});
}

}  // namespace cohort
