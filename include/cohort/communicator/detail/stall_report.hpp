// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/communicator/detail/transport.hpp>
#include <cohort/error/detail/text.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// "1" or "1, 3", at most 16 of them.
[[gnu::cold]] inline std::string list_of(std::span<int const> ranks) {
  constexpr std::size_t most = 16;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, ranks.size()); ++i)
    text += text_of({i == 0 ? "" : ", ", ranks[i]});
  return ranks.size() > most ? text_of({text, " and ", ranks.size() - most, " more"}) : text;
}

/// "at step 812, bucket 4".
[[gnu::cold]] inline std::string place_of(rank_progress w) {
  if (w.step < 0 && w.bucket < 0) return "before its first step";
  return w.bucket < 0 ? text_of({"at step ", w.step}) : text_of({"at step ", w.step, ", bucket ", w.bucket});
}

/// Ranks of which the same can be said.
struct stand {
  std::vector<int> ranks{};
  standing what{};
};

[[gnu::cold]] inline std::vector<stand> stands_of(std::span<standing const> all, std::span<int const> ranks) {
  std::vector<stand> stands;
  for (int const rank : ranks) {
    standing const& its = all[static_cast<std::size_t>(rank)];
    auto const same = std::find_if(stands.begin(), stands.end(), [&](stand const& s) {
      return s.what.answers == its.answers && s.what.ended == its.ended && s.what.where == its.where;
    });
    if (same == stands.end())
      stands.push_back({{rank}, its});
    else
      same->ranks.push_back(rank);
  }
  return stands;
}

/// Who keeps the others waiting: those that have ended or do not answer; if there are none, those behind the furthest.
[[gnu::cold]] inline std::vector<int> late_ranks(std::span<standing const> all,
                                                 std::span<int const> members) {
  rank_progress furthest{};
  bool lost = false;
  for (int const rank : members) {
    standing const& its = all[static_cast<std::size_t>(rank)];
    furthest = std::max(furthest, its.where);
    lost = lost || its.ended || !its.answers;
  }
  std::vector<int> late;
  for (int rank = 0; rank < static_cast<int>(all.size()); ++rank) {
    standing const& its = all[static_cast<std::size_t>(rank)];
    bool const is_late = lost ? its.ended || !its.answers : its.where < furthest;
    if (is_late && std::find(members.begin(), members.end(), rank) != members.end()) late.push_back(rank);
  }
  return late;
}

/// One sentence on who is late and where the others are: "rank 3 is at step 812, bucket 4; the others wait in bucket 5".
///
/// Shapes    a standing for each rank of the transport; `members` are those that wait for each other; `culprits` of them
///           are late, if that is known otherwise.
[[gnu::cold]] inline std::string sentence_on(std::span<standing const> all, std::span<int const> members,
                                             std::span<int const> culprits = {}) {
  std::vector<int> const late =
      culprits.empty() ? late_ranks(all, members) : std::vector<int>(culprits.begin(), culprits.end());
  if (late.empty()) {
    rank_progress const where = all[static_cast<std::size_t>(members[0])].where;
    return members.size() == 1 ? text_of({"rank ", members[0], " waits for itself ", place_of(where)})
                               : text_of({"ranks ", list_of(members), " all answer and are ", place_of(where),
                                          ": they do not wait for the same"});
  }
  std::string text;
  for (stand const& s : stands_of(all, late)) {
    bool const one = s.ranks.size() == 1;
    text += text_of({text.empty() ? "" : "; ", one ? "rank " : "ranks ", list_of(s.ranks)});
    if (s.what.answers && !s.what.ended)
      text += text_of({one ? " is " : " are ", place_of(s.what.where)});
    else
      text += text_of({s.what.ended ? (one ? " has ended" : " have ended")
                                    : (one ? " does not answer" : " do not answer"),
                       one ? "; it was last " : "; they were last ", place_of(s.what.where)});
  }
  std::vector<int> others;
  for (int const rank : members)
    if (std::find(late.begin(), late.end(), rank) == late.end()) others.push_back(rank);
  std::vector<stand> const waiting = stands_of(all, others);
  if (waiting.size() != 1) return text;
  text += others.size() == 1 ? text_of({"; rank ", others[0], " waits"}) : "; the others wait";
  rank_progress const there = waiting[0].what.where;
  bool const same_step = std::all_of(late.begin(), late.end(), [&](int rank) {
    return all[static_cast<std::size_t>(rank)].where.step == there.step;
  });
  if (there.bucket >= 0 && same_step) return text_of({text, " in bucket ", there.bucket});
  return there == rank_progress{} ? text : text_of({text, " ", place_of(there)});
}

/// "rank 2 (at step 812, bucket 4)": who kept others waiting that have gone on since.
[[gnu::cold]] inline std::string names_of_late(std::span<standing const> all, std::span<int const> late) {
  std::string text;
  for (stand const& s : stands_of(all, late))
    text += text_of({text.empty() ? "" : ", ", s.ranks.size() == 1 ? "rank " : "ranks ", list_of(s.ranks),
                     " (", place_of(s.what.where), ")"});
  return text;
}

}  // namespace cohort::detail
