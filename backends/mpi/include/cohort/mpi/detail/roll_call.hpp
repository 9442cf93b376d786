// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <string>
#include <vector>

namespace cohort::detail {

/// Detects which ranks of this host are alive while MPI starts, because MPI itself cannot report that yet.
///
/// Each process listens on an abstract Unix socket named after its job and rank. The kernel removes the
/// socket when the process ends. Ranks of other hosts (network namespaces) are not detected.
/// Before    the launcher has set the variables of Open MPI, PMIx or Slurm; without them, no rank is
///           observed.
/// Order     only one thread may call at a time.
class roll_call {
 public:
  roll_call();
  ~roll_call();
  roll_call(roll_call const&) = delete;
  roll_call& operator=(roll_call const&) = delete;

  /// Returns this process's rank; −1 if unknown.
  int rank() const { return rank_; }
  /// Checks which ranks of the job are alive. Returns the ranks that an earlier call found alive and that
  /// have ended since then.
  std::vector<int> ended_ranks();
  /// Returns a text of the form "on this host ranks 0, 2 have started, and 1 rank has not; rank 2 is
  /// stopped"; "" if nothing is known.
  std::string describe() const;

 private:
  /// Returns whether a rank is alive. Also sets processes_ if the connection succeeds.
  bool is_alive(int rank);

  std::string job_;
  int rank_ = -1;
  int socket_ = -1;
  int local_size_ = 0;  // 0 if unknown
  std::vector<char> seen_;
  std::vector<int> processes_;  // 0 if unknown
};

}  // namespace cohort::detail
