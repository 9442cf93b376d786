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
  std::string file{};      // made in the folder; "" if there is a problem or no folder
  std::string problem{};   // of the folder
  std::string run{};       // encoded
  bool sees_first = true;  // its folder has rank 0's file; not encoded

  /// The facts of this rank, without those of the folder's file.
  static rank_facts found(preflight_settings const& what);
  /// The facts as one text, separated by zero bytes, `run` last.
  std::string encoded() const;
  static rank_facts decoded(std::string_view text);
};

/// Memory that a control group (version 2) and those above it can still use; file cache that the system can
/// free counts as free; the largest number without a limit. `root`: where the groups are mounted.
std::uint64_t free_memory_of_group(std::string const& root, std::string_view group);

/// The rank with which `rank` forms a pair in a round; −1: none. In size − 1 rounds (size, if it is odd) each
/// rank forms a pair with each other rank once.
int partner_of(int rank, int round, int size);

/// Adds the problems and warnings that follow from the facts of all ranks, and from the clocks and pairs of
/// the report. `communicator`: its name.
void judge(preflight_report& of, std::vector<rank_facts> const& all, preflight_settings const& what,
           std::string_view communicator);

}  // namespace cohort::detail
