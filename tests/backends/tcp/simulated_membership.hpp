// SPDX-License-Identifier: Apache-2.0
// Processes of an elastic job in virtual time, with a service that begins again, crashes, partitions, pauses,
// delays, lost packets and joins at random.
#pragma once
#include <gtest/gtest.h>
#include <algorithm>
#include <cohort/communicator/communicator.hpp>
#include <cohort/communicator/detail/virtual_time.hpp>
#include <cohort/tcp/detail/membership.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>
#include "given_seeds.hpp"

namespace simulated_membership {

using namespace std::chrono_literals;
using cohort::detail::member_report;
using cohort::detail::membership;
using cohort::detail::membership_rules;
using cohort::detail::process_id;

/// Parameters of a schedule.
///
/// `loss`     probability that a packet is lost. TCP sends it again after 200, 400, … ms, and later messages
///            wait for it. Negative: drawn
/// `silence`  limit of the heartbeat
struct conditions {
  int faults = 6;
  double loss = -1;
  std::chrono::milliseconds silence{1000};
};

/// One schedule. Processes act once per tick of 50 ms. A message arrives 0 to 3 ticks after it was sent, in
/// order; while sender and receiver are in different parts of the network, it waits. Half of the schedules
/// are crowded: there are more processes than a membership may have, and more faults, most of them partitions
/// and restarts of the service.
class schedule {
 public:
  explicit schedule(std::uint64_t seed, conditions given = {}) : given_(given), random_(seed) {
    ranks_ = pick(1, 5);
    least_ = pick(1, ranks_);
    is_crowded_ = pick(0, 1) == 0;
    most_ = is_crowded_ ? ranks_ : ranks_ + pick(0, 2);
    has_claims_ = pick(0, 1) == 0;
    constexpr double losses[]{0, 0, 0.01, 0.05};
    if (given_.loss < 0) given_.loss = losses[pick(0, 3)];
    begin_service(true);
    int const surplus = is_crowded_ ? pick(1, 2) : 0;
    for (int i = 0; i < ranks_ + surplus; ++i) add_process();
  }

  void run() {
    constexpr auto last_fault = 10s, end = 30s;
    int const faults = is_crowded_ ? 2 * given_.faults : given_.faults;
    for (int i = 0; i < faults; ++i) time_.add(moment(pick(1, 200) * tick), [this] { add_fault(); });
    time_.add(moment(last_fault), [this] { heal(); });
    time_.add(moment(0s), [this] { advance(); });
    run_until(moment(end));
    check_liveness();
  }

  std::int64_t steps() const { return newest_step_; }
  std::int64_t memberships() const { return static_cast<std::int64_t>(progressed_.size()); }
  /// Longest time from the first transmission of a packet until it has arrived.
  std::chrono::nanoseconds longest_delay() const { return longest_delay_; }

 private:
  using clock = membership_rules::clock;
  using moment = clock::time_point;
  static constexpr auto tick = 50ms;

  struct process {
    member_report state{};
    bool alive = true, left = false;
    moment paused_until{};
    moment next_beat{};
    bool is_connected = false;        // to the service
    bool connects = true;             // a report must be sent
    std::int64_t newest_contact = 0;  // number of the service's start that knows this process
    std::int64_t line = 0;            // number of the last step's execution
  };
  struct message {
    moment due{};
    enum class kind { beat, report, begin, end } is = kind::beat;
    member_report report{};
    membership next{};
  };
  /// One direction of the connection between a process and the service.
  struct channel {
    process_id process = 0;
    bool to_service = false;
    auto operator<=>(channel const&) const = default;
  };

  int pick(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }
  moment now() const { return time_.now(); }
  void run_until(moment end) {
    while (time_.has_events() && time_.next_time() < end) time_.next()();
  }
  bool runs(process const& one) const { return one.alive && !one.left && now() >= one.paused_until; }
  /// Draws the delay of a packet by retransmissions.
  clock::duration retransmission() {
    clock::duration all{};
    std::bernoulli_distribution is_lost(given_.loss);
    for (auto timeout = 200ms; given_.loss > 0 && is_lost(random_); timeout *= 2) all += timeout;
    longest_delay_ = std::max<std::chrono::nanoseconds>(longest_delay_, all);
    return all;
  }
  /// 0: the part of the service.
  int part_of(process_id one) const {
    auto const found = parts_.find(one);
    return found == parts_.end() ? 0 : found->second;
  }

  void begin_service(bool may_be_first) {
    service_.emplace(membership_rules::settings{.ranks = ranks_,
                                                .least = least_,
                                                .most = most_,
                                                .silence = given_.silence,
                                                .time_to_join = 2s,
                                                .may_be_first = may_be_first},
                     now());
    sent_.clear();
    for (auto& [id, one] : processes_) {
      one.is_connected = false;
      one.connects = true;
    }
  }
  void add_process() { processes_[++last_process_]; }

  void lose_connection(process_id id) {
    process& one = processes_.at(id);
    if (one.is_connected && part_of(id) == 0) service_->lose(id, true);
    one.is_connected = false;
    one.connects = runs(one) || (one.alive && !one.left);
    close(id);
  }

  void close(process_id id) {
    for (bool const to_service : {false, true}) sent_.erase({id, to_service});
  }

  void add_fault() {
    auto one = processes_.begin();
    std::advance(one, pick(0, static_cast<int>(processes_.size()) - 1));
    auto& [id, it] = *one;
    constexpr int of_the_network[]{2, 3, 5};
    switch (is_crowded_ && pick(0, 1) == 0 ? of_the_network[pick(0, 2)] : pick(0, 6)) {
      case 0:
        it.alive = false;
        lose_connection(id);
        break;
      case 1:
        it.paused_until = now() + pick(1, 60) * tick;
        break;
      case 2:
        for (auto& [other, any] : processes_) parts_[other] = pick(0, 1);
        break;
      case 3:
        parts_.clear();
        break;
      case 4:
        if (processes_.size() < 10) add_process();
        break;
      case 5:
        begin_service(newest_step_ == 0 && progressed_.empty() && !was_begun_);
        break;
      case 6:
        if (!runs(it) || !it.is_connected || part_of(id) != 0) break;
        if (std::ssize(it.state.accepted().members) <= least_) break;
        if (!service_->may_leave(id)) break;
        service_->leave(id);
        it.left = true;
        it.is_connected = false;
        break;
      default:
        break;
    }
  }

  void heal() {
    parts_.clear();
    if (given_.faults > 0) given_.loss = 0;
    for (auto& [id, one] : processes_) one.paused_until = {};
  }

  void send(channel over, message what) {
    std::deque<message>& before = sent_[over];
    what.due = now() + pick(0, 3) * tick + retransmission();
    if (!before.empty()) what.due = std::max(what.due, before.back().due);
    time_.add(what.due, [this, over] { deliver(over); });
    before.push_back(std::move(what));
  }

  void advance() {
    for (auto& [id, one] : processes_) {
      if (!runs(one)) continue;
      if (one.connects && part_of(id) == 0) {
        close(id);
        one.connects = false;
        one.is_connected = true;
        send({id, true}, {.is = message::kind::report, .report = one.state});
      }
      if (one.is_connected && now() >= one.next_beat) {
        one.next_beat = now() + given_.silence / 8;
        send({id, true}, {.is = message::kind::beat});
      }
    }
    decide();
    train();
    if (!::testing::Test::HasFatalFailure()) time_.add(now() + tick, [this] { advance(); });
  }

  void decide() {
    for (int k = 0; k < 20; ++k) {
      membership_rules::decision const next = service_->decide(now());
      if (next.is_empty()) break;
      for (process_id const id : next.close)
        if (processes_.at(id).alive) {
          processes_.at(id).is_connected = false;
          processes_.at(id).connects = true;
        }
      for (process_id const id : next.end) send({id, false}, {.is = message::kind::end});
      if (next.claim) {
        std::optional<process_id> by;
        if (has_claims_)
          by = claims_.try_emplace({next.claim->number, next.claim->members[0]}, next.claimant).first->second;
        service_->claimed(*next.claim, by);
      }
      if (!next.begin) continue;
      was_begun_ = true;
      for (process_id const id : next.begin->members)
        send({id, false}, {.is = message::kind::begin, .next = *next.begin});
    }
  }

  /// Delivers the messages that are due. Messages over a closed connection have been removed.
  void deliver(channel over) {
    process& one = processes_.at(over.process);
    while (true) {
      auto const found = sent_.find(over);
      if (found == sent_.end() || found->second.empty() || found->second.front().due > now()) return;
      if (part_of(over.process) != 0 || (!over.to_service && !runs(one)))
        return time_.add(now() + tick, [this, over] { deliver(over); });
      message const next = std::move(found->second.front());
      found->second.pop_front();
      if (!one.is_connected) continue;
      if (next.is == message::kind::beat)
        service_->hear(over.process, now());
      else if (over.to_service)
        service_->report(over.process, next.report, now());
      else if (next.is == message::kind::begin)
        one.state.begin(over.process, next.next);
      else if (one.state.trains)
        wait(over.process, {});
    }
  }

  void wait(process_id id, std::vector<process_id> lost) {
    process& one = processes_.at(id);
    one.state.withdraw(one.state.step, std::move(lost));
    one.connects = one.connects || !one.is_connected;
    if (one.is_connected) send({id, true}, {.is = message::kind::report, .report = one.state});
  }

  /// Whether all members have accepted the membership and reach each other.
  bool can_step(membership const& all) const {
    return std::ranges::all_of(all.members, [&](process_id id) {
      auto const found = processes_.find(id);
      return found != processes_.end() && runs(found->second) && found->second.state.trains
             && found->second.state.accepted() == all && part_of(id) == part_of(all.members[0]);
    });
  }

  void train() {
    std::map<std::int64_t, membership> known;
    for (auto const& [id, one] : processes_)
      if (runs(one) && one.state.trains) known[one.state.accepted().number] = one.state.accepted();
    int progressing = 0;
    for (auto const& [number, all] : known) {
      if (can_step(all)) {
        ++progressing;
        if (has_messages(all)) step(all);
      } else {
        lose_members(all);
      }
    }
    ASSERT_LE(progressing, 1) << now().time_since_epoch() / 1ms << " ms: two memberships make steps";
  }

  /// Whether the messages of the next step have arrived.
  bool has_messages(membership const& all) {
    auto const [found, is_new] = arrival_.try_emplace(all.number, now());
    if (is_new)
      for (std::size_t k = 0; k < all.members.size() * all.members.size(); ++k)
        found->second = std::max(found->second, now() + retransmission());
    if (found->second > now()) {
      lose_members(all);
      return false;
    }
    arrival_.erase(found);
    return true;
  }

  /// A member sees at once that another has ended, left or no longer trains with it; silence only after the
  /// limit.
  void lose_members(membership const& all) {
    std::vector<process_id> lost;
    bool ends = false;
    for (process_id const id : all.members) {
      process const& one = processes_.at(id);
      bool const gone = !one.alive || one.left;
      bool const other = one.state.accepted().number > all.number
                         || (one.state.accepted().number == all.number && !one.state.trains);
      if (gone) lost.push_back(id);
      ends = ends || gone || other;
    }
    moment const since = stuck_since_.try_emplace(all.number, now()).first->second;
    if (!ends && now() - since <= given_.silence) return;
    for (process_id const id : all.members) {
      process const& one = processes_.at(id);
      if (!runs(one) || !one.state.trains || one.state.accepted() != all) continue;
      std::vector<process_id> silent = lost;
      for (process_id const other : all.members)
        if (!ends && (!runs(processes_.at(other)) || part_of(other) != part_of(id))) silent.push_back(other);
      wait(id, silent);
    }
  }

  void step(membership const& all) {
    stuck_since_.erase(all.number);
    if (!progressed_.contains(all.number)) return begin(all);
    // Some members may not see the end of the last step.
    bool const is_torn = given_.faults > 0 && pick(0, 9) == 0;
    std::int64_t const next = processes_.at(all.members[0]).state.step + 1;
    ++executions_;
    for (process_id const id : all.members) {
      process& one = processes_.at(id);
      ASSERT_EQ(one.state.step, next - 1);
      if (is_torn && pick(0, 1) == 0) continue;
      one.state.step = next;
      one.line = executions_;
      newest_step_ = std::max(newest_step_, next);
    }
    if (!is_torn) return;
    for (process_id const id : all.members) wait(id, {});
  }

  /// The beginning of a membership: the members get the newest state, and confirm. A fault may end this for
  /// some of them.
  void begin(membership const& all) {
    process const* newest = nullptr;
    for (process_id const id : all.members) {
      process const& one = processes_.at(id);
      auto const order = [](process const& p) { return std::pair(p.state.loaded, p.state.step); };
      if (!newest || order(one) > order(*newest)) newest = &one;
    }
    ASSERT_GE(newest->state.step, newest_step_ - 1) << now().time_since_epoch() / 1ms << " ms, membership "
                                                    << all.number << ": more than one step is lost";
    std::int64_t const step = newest->state.step, line = newest->line;
    // 0: some members load the state; 1: all load it, and some confirm.
    int const torn = given_.faults > 0 ? pick(0, 9) : 2;
    for (process_id const id : all.members) {
      process& one = processes_.at(id);
      if (torn == 0 && pick(0, 1) == 0) continue;
      one.state.load();
      one.state.accepts_processes = true;
      one.state.step = step;
      one.line = line;
      if (torn > 1 || (torn == 1 && pick(0, 1) == 0)) one.state.confirm();
      if (one.is_connected) send({id, true}, {.is = message::kind::report, .report = one.state});
    }
    if (torn < 2) {
      for (process_id const id : all.members) wait(id, {});
      return;
    }
    progressed_.insert(all.number);
    newest_step_ = step;
    last_ = all;
  }

  /// Whether processes that run, at most as many as a membership may have, are more than half of each given
  /// membership. One of them has the newest state.
  bool has_majorities(std::vector<membership> const& all) const {
    std::vector<process_id> running;
    std::pair<std::int64_t, std::int64_t> newest;
    auto const order = [&](process_id id) {
      member_report const& state = processes_.at(id).state;
      return std::pair(state.loaded, state.step);
    };
    for (auto const& [id, one] : processes_) {
      if (!runs(one)) continue;
      running.push_back(id);
      newest = std::max(newest, order(id));
    }
    for (std::uint32_t set = 1; set < 1U << running.size(); ++set) {
      std::set<process_id> chosen;
      for (std::size_t k = 0; k < running.size(); ++k)
        if (set >> k & 1U) chosen.insert(running[k]);
      bool const has_state = std::ranges::any_of(chosen, [&](process_id id) { return order(id) == newest; });
      auto const is_majority = [&](membership const& one) {
        auto const present =
            std::ranges::count_if(one.members, [&](process_id id) { return chosen.contains(id); });
        return one.members.empty() || 2 * present > std::ssize(one.members);
      };
      if (std::ssize(chosen) <= most_ && has_state && std::ranges::all_of(all, is_majority)) return true;
    }
    return false;
  }

  /// After the last fault, the job goes on if a membership may have more than half of the members of each of
  /// its last memberships.
  void check_liveness() {
    if (::testing::Test::HasFatalFailure()) return;
    int alive = 0;
    for (auto const& [id, one] : processes_) alive += runs(one);
    if (alive < least_ || last_.members.empty()) return;
    membership confirmed = last_;
    for (auto const& [id, one] : processes_)
      if (runs(one) && one.state.confirmed.number > confirmed.number) confirmed = one.state.confirmed;
    std::vector<membership> all{confirmed};
    if (std::ranges::none_of(processes_, [&](auto const& entry) {
          return runs(entry.second) && entry.second.state.confirmed.number > 0;
        }))
      all.push_back(service_->current());
    for (auto const& [id, one] : processes_)
      if (runs(one))
        std::ranges::copy_if(one.state.attempts, std::back_inserter(all),
                             [&](membership const& attempt) { return attempt.number > confirmed.number; });
    if (!has_majorities(all)) return;
    std::int64_t const before = executions_;
    run_until(now() + 5 * given_.silence);
    EXPECT_GT(executions_, before) << "the job does not go on";
  }

  conditions given_;
  std::mt19937_64 random_;
  cohort::detail::virtual_time<moment, std::function<void()>> time_;
  int ranks_ = 1, least_ = 1, most_ = 1;
  bool is_crowded_ = false, has_claims_ = false, was_begun_ = false;
  std::multiset<int> fault_at_;
  std::optional<membership_rules> service_;
  std::int64_t executions_ = 0, newest_step_ = 0;
  process_id last_process_ = 0;
  std::map<process_id, process> processes_;
  std::map<process_id, int> parts_;
  std::map<channel, std::deque<message>> sent_;
  std::chrono::nanoseconds longest_delay_{};
  std::map<std::pair<std::int64_t, process_id>, process_id> claims_;  // by number and first member
  std::set<std::int64_t> progressed_;
  std::map<std::int64_t, moment> stuck_since_, arrival_;  // by numbers of memberships
  membership last_;
};

/// No faults but lost packets, with the default heartbeat.
inline conditions lossy(double loss) {
  return {.faults = 0, .loss = loss, .silence = cohort::communicator_settings{}.heartbeat};
}

/// Sums over schedules.
///
/// `changes`  memberships that follow another one
struct totals {
  std::int64_t schedules = 0, steps = 0, memberships = 0, changes = 0;
  std::chrono::milliseconds longest_delay{};
};

/// Runs the schedules of the seeds up to the first failure. Without faults, the membership must not change
/// unless a packet was delayed for longer than the heartbeat's limit.
inline totals run_seeds(seed_range seeds, conditions given = {}) {
  totals all;
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    schedule next(seed, given);
    next.run();
    auto const changes = std::max<std::int64_t>(next.memberships() - 1, 0);
    if (given.faults == 0 && next.longest_delay() < given.silence) {
      EXPECT_EQ(changes, 0);
    }
    if (::testing::Test::HasFailure()) break;
    ++all.schedules;
    all.steps += next.steps();
    all.memberships += next.memberships();
    all.changes += changes;
    all.longest_delay = std::max(all.longest_delay,
                                 std::chrono::duration_cast<std::chrono::milliseconds>(next.longest_delay()));
  }
  return all;
}

}  // namespace simulated_membership
