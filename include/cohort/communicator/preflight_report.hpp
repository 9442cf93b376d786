// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/require_same.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cohort {

/// Settings of preflight: the requirements and limits to be checked.
///
/// Units     bytes and milliseconds. `memory`: bytes that this rank will allocate. `disk`: bytes that this
///           rank will write to `folder`. `memory` and `disk` may differ between ranks. The memory of a
///           host's ranks is added and compared with the memory available to the host's first rank. The disk
///           space of all ranks is added and compared with the free space of rank 0's `folder`.
/// Before    `clock_difference` and `probe` are equal on all ranks. All ranks have a folder, or none.
struct preflight_settings {
  std::string folder{};  ///< folder that all ranks must share and be able to write to; "": none
  std::uint64_t disk = 0;
  std::uint64_t memory = 0;
  std::vector<shared_fact> run{};            ///< values that must be equal on all ranks: settings, a checksum
  int clock_difference = 2000;               ///< largest allowed difference from rank 0's clock
  std::size_t probe = std::size_t{1} << 20;  ///< size of the message that measures a pair; 0: none
};

/// Results of preflight for one rank.
///
/// Units     bytes; `clock`: seconds by which this rank's clock is ahead of rank 0's.
struct preflight_rank {
  std::string host{};
  std::string version{};            ///< version of Cohort
  int processors = 0;               ///< number of processors that the process may use
  std::uint64_t memory = 0;         ///< bytes available to the process and its control group
  std::uint64_t shared_memory = 0;  ///< free bytes in /dev/shm
  std::uint64_t disk = 0;           ///< free bytes in the folder; 0 without a folder
  double clock = 0;
};

/// Measurements of messages from rank `from` to rank `to`.
///
/// Units     `latency` in seconds for one direction: half of the median round trip of a small message.
///           `bandwidth` in bytes per second.
struct preflight_pair {
  int from = 0;
  int to = 0;
  double latency = 0;
  double bandwidth = 0;
};

/// Result of preflight, equal on all ranks.
struct preflight_report {
  std::vector<preflight_rank> ranks{};
  std::vector<preflight_pair> pairs{};  ///< ordered by `from`, then by `to`; empty if not measured
  std::vector<std::string> problems{};  ///< reasons why the job cannot run, each with its remedy
  std::vector<std::string> warnings{};  ///< reasons why the job may be slow

  /// Formats the report: tables of at most 16 ranks, warnings and problems.
  std::string text() const;
  /// Errors    setting_error with all problems, if there are any.
  void require_none() const;
};

}  // namespace cohort
