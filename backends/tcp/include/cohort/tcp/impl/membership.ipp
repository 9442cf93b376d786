// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/tcp/detail/membership.hpp>
#include <tuple>
#include <utility>

namespace cohort::detail {

bool membership::contains(process_id one) const { return std::ranges::find(members, one) != members.end(); }

void member_report::wait(std::int64_t steps, std::vector<process_id> without) {
  trains = false;
  step = steps;
  lost = std::move(without);
}

bool member_report::begin(process_id self, membership const& next) {
  if (trains || next.number <= accepted.number || !next.contains(self)) return false;
  accepted = next;
  return trains = true;
}

void membership_rules::report(process_id from, member_report what, clock::time_point now) {
  auto const [entry, is_new] = processes_.try_emplace(from);
  process& one = entry->second;
  if (is_new) {
    one.arrival = ++arrivals_;
    last_arrival_ = now;
  }
  if (what.accepted.number > current_.number) current_ = what.accepted;
  one.is_connected = true;
  one.has_left = one.ended_by_kernel = one.was_told_to_end = false;
  one.heard = now;
  one.last = std::move(what);
}

void membership_rules::hear(process_id from, clock::time_point now) {
  if (auto const found = processes_.find(from); found != processes_.end()) found->second.heard = now;
}

void membership_rules::lose(process_id one, bool by_its_kernel) {
  auto const found = processes_.find(one);
  if (found == processes_.end()) return;
  found->second.is_connected = false;
  found->second.ended_by_kernel = by_its_kernel;
}

void membership_rules::leave(process_id one) {
  lose(one, true);
  if (auto const found = processes_.find(one); found != processes_.end()) found->second.has_left = true;
}

void membership_rules::claimed(std::int64_t number, std::optional<bool> is_ours) {
  claims_.insert_or_assign(number, is_ours);
}

int membership_rules::waiting() const {
  return static_cast<int>(
      std::ranges::count_if(processes_, [&](auto const& one) { return waits(one.second); }));
}

bool membership_rules::may_still_connect(process_id one, clock::time_point now) const {
  if (processes_.contains(one) || now >= started_ + how_.silence) return false;
  return std::ranges::none_of(processes_, [&](auto const& entry) {
    std::vector<process_id> const& lost = entry.second.last.lost;
    return waits(entry.second) && std::ranges::find(lost, one) != lost.end();
  });
}

bool membership_rules::must_change(clock::time_point now) const {
  for (process_id const id : current_.members) {
    auto const found = processes_.find(id);
    bool const is_there = found == processes_.end() ? may_still_connect(id, now) : trains(found->second);
    if (!is_there) return true;
  }
  return std::ranges::any_of(processes_, [&](auto const& entry) {
    auto const& [id, one] = entry;
    bool const is_outside = trains(one) && one.last.accepted.number < current_.number;
    bool const can_join = waits(one) && std::ssize(current_.members) < how_.most;
    return is_outside || can_join;
  });
}

membership_rules::share membership_rules::present(membership const& last) const {
  int there = 0, all = 0;
  for (process_id const id : last.members) {
    auto const found = processes_.find(id);
    all += found == processes_.end() || !found->second.has_left;
    there += found != processes_.end() && waits(found->second);
  }
  return 2 * there > all ? share::most : there > 0 && 2 * there == all ? share::half : share::none;
}

bool membership_rules::all_missing_ended_by_kernel(membership const& last) const {
  return std::ranges::all_of(last.members, [&](process_id id) {
    auto const found = processes_.find(id);
    return found != processes_.end() && (waits(found->second) || found->second.ended_by_kernel);
  });
}

membership membership_rules::newest(membership member_report::*which) const {
  membership found;
  for (auto const& [id, one] : processes_)
    if (waits(one) && (one.last.*which).number > found.number) found = one.last.*which;
  return found;
}

bool membership_rules::is_needed(process_id one) const {
  return processes_.at(one).is_connected || current_.contains(one)
         || std::ranges::any_of(processes_, [&](auto const& entry) {
              member_report const& last = entry.second.last;
              return entry.second.is_connected
                     && (last.confirmed.contains(one) || last.accepted.contains(one));
            });
}

void membership_rules::form(clock::time_point now, decision& made) {
  membership const confirmed = newest(&member_report::confirmed), accepted = newest(&member_report::accepted);
  if (accepted.number == 0 && current_.number == 0) {
    if (!how_.may_be_first) return;
    bool const is_complete = waiting() >= how_.ranks;
    bool const is_late = waiting() >= how_.least && now >= last_arrival_ + how_.time_to_join;
    if (!is_complete && !is_late) return;
  }
  // Without a member of the newest membership, its steps would be lost.
  bool const has_member = std::ranges::any_of(current_.members, [&](process_id id) {
    auto const found = processes_.find(id);
    return found != processes_.end() && waits(found->second);
  });
  if (current_.number > 0 && !has_member) return;
  bool const has_state = confirmed.number >= std::max(accepted.origin, current_.origin);
  if (!has_state || waiting() < how_.least) return;  // before a claim, which another side may need
  for (membership const* last : {&confirmed, &accepted}) {
    if (std::ranges::any_of(last->members, [&](process_id id) { return may_still_connect(id, now); })) return;
    share const there = last->number == 0 ? share::most : present(*last);
    if (there == share::most) continue;
    if (there == share::none) return;
    auto const answer = claims_.find(last->number);
    if (answer == claims_.end()) {
      made.claim = last->number;
      return;
    }
    if (!answer->second.value_or(all_missing_ended_by_kernel(*last))) return;
  }
  std::vector<std::tuple<bool, std::int64_t, std::int64_t, process_id>> order;
  for (auto const& [id, one] : processes_) {
    if (!waits(one)) continue;
    bool const stays = confirmed.number > 0 && one.last.confirmed.number == confirmed.number;
    auto const rank = std::ranges::find(confirmed.members, id) - confirmed.members.begin();
    order.emplace_back(!stays, stays ? -one.last.step : 0, stays ? rank : one.arrival, id);
  }
  std::ranges::sort(order);
  membership next{.number = std::max(current_.number, accepted.number) + 1, .origin = confirmed.number};
  for (auto const& entry : order)
    if (std::ssize(next.members) < how_.most) next.members.push_back(std::get<process_id>(entry));
  for (process_id const id : next.members) {
    process& one = processes_.at(id);
    one.last.trains = true;
    one.last.accepted = next;
    one.was_told_to_end = false;
  }
  current_ = next;
  made.begin = std::move(next);
}

membership_rules::decision membership_rules::decide(clock::time_point now) {
  decision made;
  for (auto& [id, one] : processes_)
    if (one.is_connected && now > one.heard + how_.silence) {
      one.is_connected = false;
      made.close.push_back(id);
    }
  bool const some_train =
      std::ranges::any_of(processes_, [&](auto const& one) { return trains(one.second); });
  if (!some_train) {
    form(now, made);
  } else if (must_change(now)) {
    for (auto& [id, one] : processes_)
      if (trains(one) && !std::exchange(one.was_told_to_end, true)) made.end.push_back(id);
  }
  std::erase_if(processes_, [&](auto const& entry) { return !is_needed(entry.first); });
  return made;
}

}  // namespace cohort::detail
