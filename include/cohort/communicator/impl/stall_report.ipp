// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/communicator/detail/stall_report.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/error/detail/text.hpp>
#include <cstddef>

namespace cohort::detail {

[[gnu::cold]] COHORT_CORE_INLINE std::string rank_list(std::span<int const> ranks) {
  constexpr std::size_t most = 16;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, ranks.size()); ++i)
    text += text_of({i == 0 ? "" : ", ", ranks[i]});
  return ranks.size() > most ? text_of({text, " and ", ranks.size() - most, " more"}) : text;
}

[[gnu::cold]] COHORT_CORE_INLINE std::string describe_progress(rank_progress w) {
  if (w.step < 0 && w.bucket < 0) return "before its first step";
  return w.bucket < 0 ? text_of({"at step ", w.step}) : text_of({"at step ", w.step, ", bucket ", w.bucket});
}

[[gnu::cold]] COHORT_CORE_INLINE std::vector<ranks_with_status> group_by_status(
    std::span<rank_status const> all, std::span<int const> ranks) {
  std::vector<ranks_with_status> stands;
  for (int const rank : ranks) {
    rank_status const& its = all[static_cast<std::size_t>(rank)];
    auto const same = std::find_if(stands.begin(), stands.end(), [&](ranks_with_status const& s) {
      return s.what.answers == its.answers && s.what.ended == its.ended && s.what.where == its.where;
    });
    if (same == stands.end())
      stands.push_back({{rank}, its});
    else
      same->ranks.push_back(rank);
  }
  return stands;
}

[[gnu::cold]] COHORT_CORE_INLINE std::vector<int> late_ranks(std::span<rank_status const> all,
                                                             std::span<int const> members) {
  rank_progress furthest{};
  bool lost = false;
  for (int const rank : members) {
    rank_status const& its = all[static_cast<std::size_t>(rank)];
    furthest = std::max(furthest, its.where);
    lost = lost || its.ended || !its.answers;
  }
  std::vector<int> late;
  for (int rank = 0; rank < static_cast<int>(all.size()); ++rank) {
    rank_status const& its = all[static_cast<std::size_t>(rank)];
    bool const is_late = lost ? its.ended || !its.answers : its.where < furthest;
    if (is_late && std::find(members.begin(), members.end(), rank) != members.end()) late.push_back(rank);
  }
  return late;
}

[[gnu::cold]] COHORT_CORE_INLINE std::string describe_stall(std::span<rank_status const> all,
                                                            std::span<int const> members,
                                                            std::span<int const> culprits) {
  std::vector<int> const late =
      culprits.empty() ? late_ranks(all, members) : std::vector<int>(culprits.begin(), culprits.end());
  if (late.empty()) {
    rank_progress const where = all[static_cast<std::size_t>(members[0])].where;
    return members.size() == 1
               ? text_of({"rank ", members[0], " waits for itself ", describe_progress(where)})
               : text_of({"ranks ", rank_list(members), " all respond and are ", describe_progress(where),
                          ": they wait for different operations"});
  }
  std::string text;
  for (ranks_with_status const& s : group_by_status(all, late)) {
    bool const one = s.ranks.size() == 1;
    text += text_of({text.empty() ? "" : "; ", one ? "rank " : "ranks ", rank_list(s.ranks)});
    if (s.what.answers && !s.what.ended)
      text += text_of({one ? " is " : " are ", describe_progress(s.what.where)});
    else
      text += text_of({s.what.ended ? (one ? " has ended" : " have ended")
                                    : (one ? " does not respond" : " do not respond"),
                       one ? "; it was last " : "; they were last ", describe_progress(s.what.where)});
  }
  std::vector<int> others;
  for (int const rank : members)
    if (std::find(late.begin(), late.end(), rank) == late.end()) others.push_back(rank);
  std::vector<ranks_with_status> const waiting = group_by_status(all, others);
  if (waiting.size() != 1) return text;
  text += others.size() == 1 ? text_of({"; rank ", others[0], " waits"}) : "; the others wait";
  rank_progress const there = waiting[0].what.where;
  bool const same_step = std::all_of(late.begin(), late.end(), [&](int rank) {
    return all[static_cast<std::size_t>(rank)].where.step == there.step;
  });
  if (there.bucket >= 0 && same_step) return text_of({text, " in bucket ", there.bucket});
  return there == rank_progress{} ? text : text_of({text, " ", describe_progress(there)});
}

[[gnu::cold]] COHORT_CORE_INLINE std::string describe_late_ranks(std::span<rank_status const> all,
                                                                 std::span<int const> late) {
  std::string text;
  for (ranks_with_status const& s : group_by_status(all, late))
    text += text_of({text.empty() ? "" : ", ", s.ranks.size() == 1 ? "rank " : "ranks ", rank_list(s.ranks),
                     " (", describe_progress(s.what.where), ")"});
  return text;
}

}  // namespace cohort::detail
