// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/communicator/detail/stall_report.hpp>
#include <cohort/detail/text.hpp>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

namespace cohort::detail {

[[gnu::cold]] std::string named_ranks(std::span<int const> ranks) {
  constexpr std::size_t most = 16;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(most, ranks.size()); ++i)
    text += text_of({i == 0 ? "" : ", ", ranks[i]});
  return ranks.size() > most ? text_of({text, " and ", ranks.size() - most, " more"}) : text;
}

[[gnu::cold]] std::string describe_progress(rank_progress w) {
  if (w.doing != rank_progress::activity::training) {
    constexpr std::string_view names[]{"training", "evaluating", "saving", "loading"};
    std::string_view const name = names[static_cast<std::size_t>(w.doing)];
    return w.step < 0 ? text_of({name, " before its first step"}) : text_of({name, " after step ", w.step});
  }
  if (w.step < 0 && w.bucket < 0) return "before its first step";
  return w.bucket < 0 ? text_of({"at step ", w.step}) : text_of({"at step ", w.step, ", bucket ", w.bucket});
}

[[gnu::cold]] std::vector<ranks_with_status> group_by_status(std::span<rank_status const> all,
                                                             std::span<int const> ranks) {
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

/// Adds to `some` the ranks for which ranks in `some` wait. For a rank that waits for several ranks, adds all
/// ranks if `of_all` is true, otherwise none.
[[gnu::cold]] void follow_waits(std::span<rank_status const> all, std::vector<int>& some, bool of_all) {
  auto const add = [&](int rank) {
    if (std::find(some.begin(), some.end(), rank) == some.end()) some.push_back(rank);
  };
  for (std::size_t i = 0; i < some.size(); ++i) {
    rank_status const& its = all[static_cast<std::size_t>(some[i])];
    if (its.ended || !its.answers) continue;
    if (its.waits_for >= 0) add(its.waits_for);
    for (int rank = 0; of_all && its.waits_for == rank_status::several && rank < std::ssize(all); ++rank)
      add(rank);
  }
}

[[gnu::cold]] std::vector<int> late_ranks(std::span<rank_status const> all, std::span<int const> awaited) {
  auto const status = [&](int rank) -> rank_status const& { return all[static_cast<std::size_t>(rank)]; };
  auto const is_lost = [&](int rank) { return status(rank).ended || !status(rank).answers; };
  auto const does_not_wait = [&](int rank) { return status(rank).waits_for == rank_status::nobody; };
  auto const sorted = [](std::vector<int> ranks) {
    std::sort(ranks.begin(), ranks.end());
    return ranks;
  };
  std::vector<int> found(awaited.begin(), awaited.end());
  auto const at_the_end = [&] {
    std::vector<int> late;
    std::copy_if(found.begin(), found.end(), std::back_inserter(late), is_lost);
    if (late.empty()) std::copy_if(found.begin(), found.end(), std::back_inserter(late), does_not_wait);
    if (late.size() == all.size()) late.clear();  // no rank has recorded its wait
    return sorted(std::move(late));
  };
  follow_waits(all, found, false);
  if (auto late = at_the_end(); !late.empty()) return late;
  rank_progress furthest{};
  for (int const rank : awaited) furthest = std::max(furthest, status(rank).where);
  std::vector<int> behind;
  std::copy_if(awaited.begin(), awaited.end(), std::back_inserter(behind),
               [&](int rank) { return status(rank).where < furthest; });
  if (!behind.empty()) return sorted(std::move(behind));
  follow_waits(all, found, true);
  return at_the_end();
}

[[gnu::cold]] std::string describe_stall(std::span<rank_status const> all, std::span<int const> members,
                                         std::span<int const> awaited) {
  std::vector<int> const late = late_ranks(all, awaited);
  if (late.empty()) {
    std::vector<int> all_awaited(awaited.begin(), awaited.end());
    follow_waits(all, all_awaited, false);
    std::sort(all_awaited.begin(), all_awaited.end());
    rank_progress const where = all[static_cast<std::size_t>(all_awaited[0])].where;
    return members.size() == 1
               ? text_of({"rank ", members[0], " waits for its own message ", describe_progress(where)})
               : text_of({named_ranks(all_awaited), " all respond and are ", describe_progress(where),
                          ": they wait for different operations"});
  }
  std::string text;
  for (ranks_with_status const& s : group_by_status(all, late)) {
    bool const one = s.ranks.size() == 1;
    text += text_of({text.empty() ? "" : "; ", named_ranks(s.ranks)});
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
  bool const same_place = std::all_of(
      late.begin(), late.end(), [&](int rank) { return all[static_cast<std::size_t>(rank)].where == there; });
  return same_place || there == rank_progress{} ? text : text_of({text, " ", describe_progress(there)});
}

[[gnu::cold]] std::string describe_late_ranks(std::span<rank_status const> all, std::span<int const> late) {
  std::string text;
  for (ranks_with_status const& s : group_by_status(all, late))
    text +=
        text_of({text.empty() ? "" : ", ", named_ranks(s.ranks), " (", describe_progress(s.what.where), ")"});
  return text;
}

}  // namespace cohort::detail
