// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/communicator/detail/exit_at_once.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/sink.hpp>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace cohort::detail {

/// Ends the process with communicator_exit_status unless it is destroyed in time: for calls of MPI that may never return.
class watchdog {
 public:
  watchdog(std::chrono::milliseconds limit, std::string why)
      : watch_([this, limit, why = std::move(why)] {
          std::unique_lock lock(mutex_);
          if (changed_.wait_for(lock, limit, [this] { return out_; })) return;
          stderr_sink()(text_of({why, " within ", limit.count(), " ms"}));
          exit_at_once(communicator_exit_status);
        }) {}
  watchdog(watchdog const&) = delete;
  watchdog& operator=(watchdog const&) = delete;
  ~watchdog() {
    {
      std::lock_guard const lock(mutex_);
      out_ = true;
    }
    changed_.notify_one();
    watch_.join();  // bounded: the thread has nothing left to do
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool out_ = false;
  std::thread watch_;
};

}  // namespace cohort::detail
