// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <csignal>
#include <mutex>

namespace cohort::detail {

/// State of all stop_on_signal objects of the process.
///
/// `arrived`  set by the handler, which cannot access the objects and may run on any thread. `terminates`:
///            the signal was SIGTERM.
/// `users`    number of objects. `former`: the actions that the last object restores. `mutex` guards both;
///            the handler does not lock it.
struct stop_signals {
  std::atomic<bool> arrived = false, terminates = false;
  static_assert(std::atomic<bool>::is_always_lock_free);
  std::mutex mutex{};
  int users = 0;
  static constexpr int numbers[2] = {SIGTERM, SIGINT};
  struct sigaction former[2]{};
};

/// By its default visibility, all copies of Cohort in a process share this state, including the copies in
/// shared libraries with hidden symbols.
[[gnu::visibility("default")]] inline constinit stop_signals stop_signals_of_process;

}  // namespace cohort::detail
