// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/communicator/detail/exit_at_once.hpp>
#include <cohort/communicator/detail/stall_report.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/sink.hpp>
#include <cohort/mpi/detail/watchdog.hpp>
#include <utility>
#include <vector>

namespace cohort::detail {

watchdog::watchdog(std::chrono::milliseconds limit, std::string why, roll_call* ranks)
    : thread_([this, limit, why = std::move(why), ranks] { watch(limit, why, ranks); }) {}

void watchdog::watch(std::chrono::milliseconds limit, std::string const& why, roll_call* ranks) {
  using clock = std::chrono::steady_clock;
  constexpr auto interval = std::chrono::milliseconds(100);
  auto const exit_with = [&](std::string const& text) {
    stderr_sink()(ranks && ranks->rank() >= 0 ? text_of({"rank ", ranks->rank(), ": ", text}) : text);
    std::this_thread::sleep_for(2 * interval);  // so that other ranks detect only the first ended rank
    exit_at_once(communicator_exit_status);
  };
  auto const end = clock::now() + limit;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_until(lock, ranks ? std::min(end, clock::now() + interval) : end,
                              [this] { return cancelled_; })) {
    std::vector<int> const ended = ranks ? ranks->ended_ranks() : std::vector<int>();
    if (!ended.empty())
      exit_with(text_of({named_ranks(ended), ended.size() == 1 ? " has" : " have", " ended before ", why}));
    if (clock::now() < end) continue;
    std::string const known = ranks ? ranks->describe() : std::string();
    exit_with(
        text_of({"timeout after ", limit.count(), " ms before ", why, known.empty() ? "" : ": ", known}));
  }
}

watchdog::~watchdog() {
  {
    std::lock_guard const lock(mutex_);
    cancelled_ = true;
  }
  changed_.notify_one();
  thread_.join();  // bounded: the thread ends as soon as it is notified
}

}  // namespace cohort::detail
