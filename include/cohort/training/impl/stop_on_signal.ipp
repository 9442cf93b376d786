// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/elastic_communicator.hpp>
#include <cohort/training/detail/stop_signals.hpp>
#include <cohort/training/stop_on_signal.hpp>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <iterator>

namespace cohort::detail {

/// Handles the stop signals. Signals of the same number within 500 ms count once: launchers may signal both a
/// process and its group, and processes of `cohort run` get one signal from the kernel and one from the
/// watchdog. A later signal of the same number ends the process.
void record_stop_signal(int number) {
  constexpr std::int64_t most_ms = 500;                 // longest time between deliveries of one signal
  static constinit std::atomic<std::int64_t> first[2];  // time in ms of each signal; 0: not received
  std::size_t const which = number == stop_signals::numbers[0] ? 0 : 1;
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  if (number == SIGTERM) stop_signals_of_process.terminates = true;
  std::int64_t const now = time.tv_sec * std::int64_t{1000} + time.tv_nsec / 1'000'000;
  if (!stop_signals_of_process.arrived.exchange(true)) first[1 - which] = first[which] = 0;
  if (first[which] == 0) {
    first[which] = now;
  } else if (now - first[which] > most_ms) {
    ::signal(number, SIG_DFL);
    ::raise(number);  // delivered when the handler returns
  }
}

}  // namespace cohort::detail

namespace cohort {

stop_on_signal::stop_on_signal() {
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
  state.arrived = state.terminates = false;
  struct sigaction action {};
  action.sa_handler = detail::record_stop_signal;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  for (std::size_t k = 0; k < std::size(state.numbers); ++k) {
    ::sigaction(state.numbers[k], nullptr, &state.former[k]);
    if (state.former[k].sa_handler != SIG_IGN) ::sigaction(state.numbers[k], &action, nullptr);
  }
}

stop_on_signal::~stop_on_signal() {
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

bool stop_on_signal::arrived() { return detail::stop_signals_of_process.arrived; }

void stop_on_signal::on_step(training& run, step_report const&) {
  if (!arrived()) return;
  bool const may_leave = dynamic_cast<elastic_communicator*>(&run.world()) != nullptr;
  if (may_leave && detail::stop_signals_of_process.terminates)
    run.state().wants_to_leave = true;
  else
    run.request({.stop = true});
}

}  // namespace cohort
