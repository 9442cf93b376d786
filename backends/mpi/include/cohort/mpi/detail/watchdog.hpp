// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace cohort::detail {

/// Exits the process with communicator_exit_status unless it is destroyed in time. For MPI calls that may
/// never return.
class watchdog {
 public:
  watchdog(std::chrono::milliseconds limit, std::string why);
  watchdog(watchdog const&) = delete;
  watchdog& operator=(watchdog const&) = delete;
  ~watchdog();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool cancelled_ = false;
  std::thread thread_;
};

}  // namespace cohort::detail

#ifndef COHORT_MPI_COMPILED
#include <cohort/mpi/impl/watchdog.ipp>
#endif
