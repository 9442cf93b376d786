// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/exit_at_once.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/sink.hpp>
#include <cohort/mpi/detail/watchdog.hpp>
#include <utility>

namespace cohort::detail {

COHORT_MPI_INLINE watchdog::watchdog(std::chrono::milliseconds limit, std::string why)
    : thread_([this, limit, why = std::move(why)] {
        std::unique_lock lock(mutex_);
        if (changed_.wait_for(lock, limit, [this] { return cancelled_; })) return;
        stderr_sink()(text_of({why, " within ", limit.count(), " ms"}));
        exit_at_once(communicator_exit_status);
      }) {}

COHORT_MPI_INLINE watchdog::~watchdog() {
  {
    std::lock_guard const lock(mutex_);
    cancelled_ = true;
  }
  changed_.notify_one();
  thread_.join();  // bounded: the thread has finished its work
}

}  // namespace cohort::detail
