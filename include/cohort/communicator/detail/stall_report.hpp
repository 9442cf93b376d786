// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/transport.hpp>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// "1" or "1, 3", at most 16 of them.
[[gnu::cold]] std::string list_of(std::span<int const> ranks);

/// "at step 812, bucket 4".
[[gnu::cold]] std::string place_of(rank_progress w);

/// Ranks of which the same can be said.
struct stand {
  std::vector<int> ranks{};
  standing what{};
};

[[gnu::cold]] std::vector<stand> stands_of(std::span<standing const> all, std::span<int const> ranks);

/// Who keeps the others waiting: those that have ended or do not answer; if there are none, those behind the furthest.
[[gnu::cold]] std::vector<int> late_ranks(std::span<standing const> all, std::span<int const> members);

/// One sentence on who is late and where the others are: "rank 3 is at step 812, bucket 4; the others wait in bucket 5".
///
/// Shapes    a standing for each rank of the transport; `members` are those that wait for each other; `culprits` of them
///           are late, if that is known otherwise.
[[gnu::cold]] std::string sentence_on(std::span<standing const> all, std::span<int const> members,
                                      std::span<int const> culprits = {});

/// "rank 2 (at step 812, bucket 4)": who kept others waiting that have gone on since.
[[gnu::cold]] std::string names_of_late(std::span<standing const> all, std::span<int const> late);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/stall_report.ipp>
#endif
