// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/tcp/detail/membership.hpp>
#include <tuple>
#include <utility>

namespace cohort::detail {

bool membership::contains(process_id peer) const { return std::ranges::find(members, peer) != members.end(); }

void member_report::withdraw(std::int64_t steps, std::vector<process_id> without) {
  trains = false;
  step = steps;
  lost = std::move(without);
}

bool member_report::begin(process_id self, membership const& next) {
  if (trains || next.number <= accepted().number || !next.contains(self)) return false;
  attempts.push_back(next);
  return trains = true;
}

void member_report::confirm() {
  confirmed = accepted();
  attempts.clear();
}

void membership_rules::report(process_id from, member_report state, clock::time_point time) {
  auto const [entry, is_new] = processes_.try_emplace(from);
  process& peer = entry->second;
  if (is_new) {
    peer.arrival = ++arrivals_;
    last_arrival_ = time;
  }
  if (state.accepted().number > current_.number) current_ = state.accepted();
  peer.is_connected = true;
  peer.has_left = peer.ended_by_kernel = peer.was_told_to_end = false;
  peer.heard = time;
  peer.last = std::move(state);
}

void membership_rules::hear(process_id from, clock::time_point time) {
  if (auto const found = processes_.find(from); found != processes_.end()) found->second.heard = time;
}

void membership_rules::lose(process_id peer, bool by_its_kernel) {
  auto const found = processes_.find(peer);
  if (found == processes_.end()) return;
  found->second.is_connected = false;
  found->second.ended_by_kernel = by_its_kernel;
}

bool membership_rules::may_leave(process_id peer) const {
  auto const others = std::ranges::count_if(current_.members, [&](process_id id) {
    auto const found = processes_.find(id);
    return id != peer && found != processes_.end() && found->second.is_connected;
  });
  return others >= how_.least;
}

void membership_rules::leave(process_id peer) {
  lose(peer, true);
  if (auto const found = processes_.find(peer); found != processes_.end()) found->second.has_left = true;
}

void membership_rules::claimed(membership const& last, std::optional<process_id> by) {
  claims_.emplace_back(last, by);
}

int membership_rules::waiting() const {
  return static_cast<int>(
      std::ranges::count_if(processes_, [&](auto const& peer) { return waits(peer.second); }));
}

bool membership_rules::is_reported_lost(process_id peer) const {
  return std::ranges::any_of(processes_, [&](auto const& entry) {
    std::vector<process_id> const& lost = entry.second.last.lost;
    return waits(entry.second) && std::ranges::find(lost, peer) != lost.end();
  });
}

bool membership_rules::is_silent(process_id id, clock::time_point time) const {
  process const& peer = processes_.at(id);
  if (!peer.is_connected || time <= peer.heard + how_.silence) return false;
  return !peer.last.trains || time > peer.heard + 2 * how_.silence || is_reported_lost(id);
}

bool membership_rules::may_still_connect(process_id peer, clock::time_point time) const {
  return !processes_.contains(peer) && time < started_ + how_.silence && !is_reported_lost(peer);
}

bool membership_rules::must_change(clock::time_point time) const {
  for (process_id const id : current_.members) {
    auto const found = processes_.find(id);
    bool const is_there = found == processes_.end() ? may_still_connect(id, time) : trains(found->second);
    if (!is_there) return true;
  }
  bool const accept = std::ranges::all_of(current_.members, [&](process_id id) {
    auto const found = processes_.find(id);
    return found != processes_.end() && found->second.last.accepts_processes;
  });
  return std::ranges::any_of(processes_, [&](auto const& entry) {
    auto const& [id, peer] = entry;
    bool const is_outside = trains(peer) && peer.last.accepted().number < current_.number;
    bool const can_join = accept && waits(peer) && std::ssize(current_.members) < how_.most;
    return is_outside || can_join;
  });
}

membership_rules::quorum membership_rules::present(membership const& last, membership const& next) const {
  int present_members = 0, all = 0;
  for (process_id const id : last.members) {
    auto const found = processes_.find(id);
    all += found == processes_.end() || !found->second.has_left;
    present_members += next.contains(id);
  }
  return 2 * present_members > all                           ? quorum::majority
         : present_members > 0 && 2 * present_members == all ? quorum::half
                                                             : quorum::none;
}

bool membership_rules::all_missing_ended_by_kernel(membership const& last) const {
  return std::ranges::all_of(last.members, [&](process_id id) {
    auto const found = processes_.find(id);
    return found != processes_.end() && (waits(found->second) || found->second.ended_by_kernel);
  });
}

std::vector<membership> membership_rules::last_memberships() const {
  membership confirmed;
  for (auto const& [id, peer] : processes_)
    if (waits(peer) && peer.last.confirmed.number > confirmed.number) confirmed = peer.last.confirmed;
  std::vector<membership> all{confirmed};
  auto const add = [&](membership const& later) {
    if (later.number > confirmed.number && std::ranges::find(all, later) == all.end()) all.push_back(later);
  };
  if (confirmed.number == 0) add(current_);  // no confirmed membership relates two sides
  for (auto const& [id, peer] : processes_)
    if (waits(peer)) std::ranges::for_each(peer.last.attempts, add);
  std::ranges::sort(all, {}, &membership::number);
  return all;
}

bool membership_rules::is_needed(process_id peer) const {
  return processes_.at(peer).is_connected || current_.contains(peer)
         || std::ranges::any_of(processes_, [&](auto const& entry) {
              member_report const& last = entry.second.last;
              auto const has_peer = [&](membership const& attempt) { return attempt.contains(peer); };
              return entry.second.is_connected
                     && (last.confirmed.contains(peer) || std::ranges::any_of(last.attempts, has_peer));
            });
}

std::vector<process_id> membership_rules::next_members(std::vector<membership> const& all_last,
                                                       std::int64_t loaded) const {
  std::vector<process_id> const& confirmed = all_last.front().members;
  std::vector<std::tuple<bool, std::int64_t, std::int64_t, std::int64_t, process_id>> order;
  for (auto const& entry : processes_) {
    process_id const id = entry.first;
    process const& peer = entry.second;
    if (!waits(peer)) continue;
    bool const stays = loaded > 0 && peer.last.loaded == loaded;
    std::int64_t const memberships =
        std::ranges::count_if(all_last, [&](membership const& last) { return last.contains(id); });
    auto const rank = std::ranges::find(confirmed, id) - confirmed.begin();
    order.emplace_back(!stays, stays ? 0 : -memberships, stays ? -peer.last.step : 0,
                       stays ? rank : peer.arrival, id);
  }
  std::ranges::sort(order);
  std::vector<bool> is_chosen(order.size());
  std::ptrdiff_t chosen = 0;
  auto const choose = [&](std::size_t k) {
    if (is_chosen[k] || chosen >= how_.most) return;
    is_chosen[k] = true;
    ++chosen;
  };
  auto const is_in = [&](membership const& last, std::size_t k) {
    return last.contains(std::get<process_id>(order[k]));
  };
  choose(0);  // it has the newest state
  for (membership const& last : all_last) {
    std::ptrdiff_t present_members = 0;
    for (std::size_t k = 0; k < order.size(); ++k) present_members += is_chosen[k] && is_in(last, k);
    for (std::size_t k = 0; k < order.size() && 2 * present_members <= std::ssize(last.members); ++k) {
      if (is_chosen[k] || !is_in(last, k)) continue;
      choose(k);
      ++present_members;
    }
  }
  for (std::size_t k = 0; k < order.size(); ++k) choose(k);
  std::vector<process_id> members;
  for (std::size_t k = 0; k < order.size(); ++k)
    if (is_chosen[k]) members.push_back(std::get<process_id>(order[k]));
  return members;
}

void membership_rules::form(clock::time_point time, decision& result) {
  std::vector<membership> const all_last = last_memberships();
  membership const &confirmed = all_last.front(), &newest = all_last.back();
  if (newest.number == 0 && current_.number == 0) {
    if (!how_.may_be_first) return;
    bool const is_complete = waiting() >= how_.ranks;
    // Processes that replace lost ones do not know that the job has begun. They are at most half, unless the
    // others have lost their majority.
    bool const are_enough = waiting() >= how_.least && 2 * waiting() > how_.ranks;
    bool const is_late = are_enough && time >= last_arrival_ + how_.time_to_join;
    if (!is_complete && !is_late) return;
  }
  // Without a member of the newest membership, its steps would be lost.
  bool const has_member = std::ranges::any_of(current_.members, [&](process_id id) {
    auto const found = processes_.find(id);
    return found != processes_.end() && waits(found->second);
  });
  if (current_.number > 0 && !has_member) return;
  std::int64_t loaded = 0;
  for (auto const& [id, peer] : processes_)
    if (waits(peer)) loaded = std::max(loaded, peer.last.loaded);
  bool const has_state = loaded >= std::max(newest.origin, current_.origin);
  if (!has_state || waiting() < how_.least) return;  // before a claim, which another side may need
  membership next{.number = std::max(current_.number, newest.number) + 1,
                  .members = next_members(all_last, loaded),
                  .origin = confirmed.number};
  for (membership const& last : all_last) {
    if (std::ranges::any_of(last.members, [&](process_id id) { return may_still_connect(id, time); })) return;
    quorum const present_members = last.number == 0 ? quorum::majority : present(last, next);
    if (present_members == quorum::majority) continue;
    if (present_members == quorum::none) return;
    auto const answer =
        std::ranges::find(claims_, last, &std::pair<membership, std::optional<process_id>>::first);
    if (answer == claims_.end()) {
      result.claim = last;
      result.claimant = *std::ranges::find_if(last.members, [&](process_id id) { return next.contains(id); });
      return;
    }
    if (!(answer->second ? next.contains(*answer->second) : all_missing_ended_by_kernel(last))) return;
  }
  for (process_id const id : next.members) {
    process& peer = processes_.at(id);
    peer.last.trains = true;
    peer.last.attempts.push_back(next);
    peer.was_told_to_end = false;
  }
  current_ = next;
  result.begin = std::move(next);
}

membership_rules::decision membership_rules::decide(clock::time_point time) {
  decision result;
  for (auto& [id, peer] : processes_)
    if (is_silent(id, time)) {
      peer.is_connected = false;
      result.close.push_back(id);
    }
  bool const some_train =
      std::ranges::any_of(processes_, [&](auto const& peer) { return trains(peer.second); });
  if (!some_train) {
    form(time, result);
  } else if (must_change(time)) {
    for (auto& [id, peer] : processes_)
      if (trains(peer) && !std::exchange(peer.was_told_to_end, true)) result.end.push_back(id);
  }
  std::erase_if(processes_, [&](auto const& entry) { return !is_needed(entry.first); });
  return result;
}

}  // namespace cohort::detail
