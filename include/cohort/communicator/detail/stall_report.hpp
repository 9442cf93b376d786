// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/transport.hpp>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// Text of the form "rank 1" or "ranks 1, 3", with at most 16 ranks.
[[gnu::cold]] std::string named_ranks(std::span<int const> ranks);

/// Text of the form "at step 812, bucket 4" or "evaluating after step 811".
[[gnu::cold]] std::string describe_progress(rank_progress w);

/// Ranks with the same status.
struct ranks_with_status {
  std::vector<int> ranks{};
  rank_status what{};
};

/// Groups `ranks` by their status.
[[gnu::cold]] std::vector<ranks_with_status> group_by_status(std::span<rank_status const> all,
                                                             std::span<int const> ranks);

/// Returns the late ranks: the ranks that delay a wait for the ranks `awaited`, directly or through other
/// waits. Follows each wait to the rank whose message is awaited. Of the ranks found, returns those that have
/// ended or do not respond, otherwise those that are not in a wait. If all these ranks wait, returns the
/// ranks of `awaited` with less progress than the most advanced one. If all have equal progress, also follows
/// waits for several ranks: each such wait leads to all ranks.
[[gnu::cold]] std::vector<int> late_ranks(std::span<rank_status const> all, std::span<int const> awaited);

/// Stall report: the late ranks and the progress of the others, for example "rank 3 is at step 812, bucket 4;
/// the others wait in bucket 5".
///
/// Shapes    `all` has the status of each rank of the transport. `members` are the ranks of the communicator,
///           `awaited` the ranks for which the operation waits.
[[gnu::cold]] std::string describe_stall(std::span<rank_status const> all, std::span<int const> members,
                                         std::span<int const> awaited);

/// Late ranks of a wait that has since ended, for example "rank 2 (at step 812, bucket 4)".
[[gnu::cold]] std::string describe_late_ranks(std::span<rank_status const> all, std::span<int const> late);

}  // namespace cohort::detail
