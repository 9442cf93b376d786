// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts of the commands that start processes.
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

namespace cohort_program {

/// The signals that a command forwards to its processes, read from a descriptor.
class signal_source {
 public:
  signal_source() {
    sigset_t handled;
    sigemptyset(&handled);
    for (int const signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD}) sigaddset(&handled, signal);
    ::sigprocmask(SIG_BLOCK, &handled, &before_);
    descriptor_ = ::signalfd(-1, &handled, SFD_NONBLOCK | SFD_CLOEXEC);
  }
  signal_source(signal_source const&) = delete;
  signal_source& operator=(signal_source const&) = delete;
  ~signal_source() { ::close(descriptor_); }

  int descriptor() const { return descriptor_; }
  /// The signal mask before construction.
  sigset_t const& before() const { return before_; }
  /// Returns the next pending signal; 0: none.
  int next() const {
    signalfd_siginfo found{};
    bool const arrived = ::read(descriptor_, &found, sizeof found) == static_cast<ssize_t>(sizeof found);
    return arrived ? static_cast<int>(found.ssi_signo) : 0;
  }
  /// Waits at most `time`. Returns whether a signal that ends the job has arrived.
  bool interrupted_within(std::chrono::milliseconds time) const {
    using clock = std::chrono::steady_clock;
    auto const end = clock::now() + time;
    while (clock::now() < end) {
      auto const rest = std::chrono::ceil<std::chrono::milliseconds>(end - clock::now());
      pollfd signals{descriptor_, POLLIN, 0};
      ::poll(&signals, 1, static_cast<int>(rest.count()));
      while (int const signal = next())
        if (ends_job(signal)) return true;
    }
    return false;
  }
  static bool ends_job(int signal) { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP; }

 private:
  sigset_t before_{};
  int descriptor_ = -1;
};

/// Divides the processors that this process may use into `parts` equal parts. Sets OMP_NUM_THREADS, unless it
/// is set, to the number of processors in a part, at least 1. `binds`: also lets this process run only on
/// part `part`, if each part has at least one processor.
inline void use_processors(int part, int parts, bool binds) {
  cpu_set_t set;
  std::vector<int> usable;
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    for (int k = 0; k < CPU_SETSIZE; ++k)
      if (CPU_ISSET(k, &set)) usable.push_back(k);
  auto const count = static_cast<std::size_t>(parts);
  ::setenv("OMP_NUM_THREADS", std::to_string(std::max<std::size_t>(1, usable.size() / count)).c_str(), 0);
  if (!binds || usable.size() < count) return;
  auto const begin_of = [&](int number) { return usable.size() * static_cast<std::size_t>(number) / count; };
  CPU_ZERO(&set);
  for (std::size_t k = begin_of(part); k < begin_of(part + 1); ++k) CPU_SET(usable[k], &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

}  // namespace cohort_program
