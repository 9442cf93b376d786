// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/detail/build_check.hpp>
#include <cohort/mpi/detail/roll_call.hpp>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace cohort::detail {

/// Exits the process with communicator_exit_status unless it is destroyed in time. For MPI calls that may
/// never return.
class watchdog {
 public:
  /// Logs `why` and exits after `limit`. With `ranks`, which must outlive it: exits as soon as a rank of this
  /// host has ended, and names it.
  watchdog(std::chrono::milliseconds limit, std::string why, roll_call* ranks = nullptr);
  watchdog(watchdog const&) = delete;
  watchdog& operator=(watchdog const&) = delete;
  ~watchdog();

 private:
  void watch(std::chrono::milliseconds limit, std::string const& why, roll_call* ranks);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool cancelled_ = false;
  std::thread thread_;
};

}  // namespace cohort::detail

#ifndef COHORT_MPI_COMPILED
#include <cohort/mpi/impl/watchdog.ipp>
#endif
