// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/preflight_report.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// Facts about one rank, exchanged in preflight.
struct rank_facts {
  preflight_rank its{};
  std::uint64_t needed_memory = 0;
  std::uint64_t needed_disk = 0;
  std::string folder{};
  std::string file{};      // name of the file made in the folder; empty if there is a problem or no folder
  std::string problem{};   // why the folder cannot be written to; "": none
  std::string run{};       // preflight_settings::run, encoded
  bool sees_first = true;  // whether this rank's folder has rank 0's file; not encoded

  /// Returns the facts of this rank, without those about the file in the folder.
  static rank_facts found(preflight_settings const& what);
  /// Encodes the facts as one text, separated by zero bytes, `run` last.
  std::string encoded() const;
  static rank_facts decoded(std::string_view text);
};

/// Returns the bytes that a control group (version 2) can still use under its own limit and its ancestors'
/// limits. Inactive file cache counts as free. Returns the largest number if there is no limit. `root` is the
/// mount point of the control groups.
std::uint64_t free_memory_of_group(std::string const& root, std::string_view group);

/// Returns the rank with which `rank` forms a pair in a round; −1: none. In size − 1 rounds (size rounds, if
/// size is odd), each rank forms a pair with every other rank once.
int partner_of(int rank, int round, int size);

/// Adds the problems and warnings that follow from the facts of all ranks, and from the clocks and pairs of
/// the report. `communicator`: the communicator's name().
void judge(preflight_report& of, std::vector<rank_facts> const& all, preflight_settings const& what,
           std::string_view communicator);

}  // namespace cohort::detail
