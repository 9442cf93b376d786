// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cohort/detail/chrono.hpp>
#include <cohort/mpi/detail/roll_call.hpp>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace cohort::detail {

/// Exits the process with communicator_exit_status unless the watchdog is destroyed within a time limit;
/// guards MPI calls that may never return.
class watchdog {
 public:
  /// After `limit`, logs "timeout after … ms before <why>" and exits. If `ranks` is not null, also logs and
  /// exits as soon as a rank of this host has ended; `ranks` must outlive the watchdog.
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
