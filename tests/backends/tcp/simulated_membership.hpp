// SPDX-License-Identifier: Apache-2.0
// Processes of an elastic job in virtual time, with a service that begins again, crashes, partitions, pauses,
// delays and joins at random.
#pragma once
#include <gtest/gtest.h>
#include <algorithm>
#include <cohort/tcp/detail/membership.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

namespace simulated_membership {

using namespace std::chrono_literals;
using cohort::detail::member_report;
using cohort::detail::membership;
using cohort::detail::membership_rules;
using cohort::detail::process_id;

/// One schedule. Time passes in ticks of 50 ms. A message arrives 0 to 3 ticks after it was sent, in order;
/// while sender and receiver are in different parts of the network, it waits.
class schedule {
 public:
  explicit schedule(std::uint64_t seed, int faults = 6) : random_(seed), faults_(faults) {
    ranks_ = pick(1, 5);
    least_ = pick(1, ranks_);
    most_ = ranks_ + pick(0, 2);
    has_claims_ = pick(0, 1) == 0;
    begin_service(true);
    for (int i = 0; i < ranks_; ++i) add_process();
  }

  void run() {
    constexpr int tick_of_last_fault = 200, ticks = 600;
    for (int i = 0; i < faults_; ++i) fault_at_.insert(pick(1, tick_of_last_fault));
    for (tick_ = 0; tick_ < ticks && !::testing::Test::HasFatalFailure(); ++tick_) {
      for (auto range = fault_at_.equal_range(tick_); range.first != range.second; ++range.first) add_fault();
      if (tick_ == tick_of_last_fault) heal();
      advance();
    }
    check_liveness();
  }

  std::int64_t steps() const { return newest_step_; }
  std::int64_t memberships() const { return static_cast<std::int64_t>(progressed_.size()); }

 private:
  using clock = membership_rules::clock;
  static constexpr auto silence = 1s;

  struct process {
    member_report state{};
    bool alive = true, left = false;
    int paused_until = 0;
    bool is_connected = false;        // to the service
    bool connects = true;             // a report must be sent
    std::int64_t newest_contact = 0;  // number of the service's start that knows this process
    std::int64_t line = 0;            // number of the last step's execution
  };
  struct message {
    int due = 0;
    process_id to_or_from = 0;
    bool to_service = false;
    enum class kind { report, begin, end } is = kind::report;
    member_report report{};
    membership next{};
    std::int64_t start = 0;  // of the service
  };

  int pick(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }
  clock::time_point now() const { return clock::time_point(tick_ * 50ms); }
  bool runs(process const& one) const { return one.alive && !one.left && tick_ >= one.paused_until; }
  /// 0: the part of the service.
  int part_of(process_id one) const {
    auto const found = parts_.find(one);
    return found == parts_.end() ? 0 : found->second;
  }

  void begin_service(bool may_be_first) {
    ++service_start_;
    service_.emplace(membership_rules::settings{.ranks = ranks_,
                                                .least = least_,
                                                .most = most_,
                                                .silence = silence,
                                                .time_to_join = 2s,
                                                .may_be_first = may_be_first},
                     now());
    std::erase_if(messages_, [](message const&) { return true; });
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
    std::erase_if(messages_, [&](message const& m) { return m.to_or_from == id; });
  }

  void add_fault() {
    auto one = processes_.begin();
    std::advance(one, pick(0, static_cast<int>(processes_.size()) - 1));
    auto& [id, it] = *one;
    switch (pick(0, 6)) {
      case 0:
        it.alive = false;
        lose_connection(id);
        break;
      case 1:
        it.paused_until = tick_ + pick(1, 60);
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
        if (std::ssize(it.state.accepted.members) <= least_) break;
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
    for (auto& [id, one] : processes_) one.paused_until = 0;
  }

  void send(message what) {
    what.due = tick_ + pick(0, 3);
    what.start = service_start_;
    int& last_due = last_due_[{what.to_or_from, what.to_service}];
    what.due = last_due = std::max(what.due, last_due);
    messages_.push_back(std::move(what));
  }

  void advance() {
    deliver();
    for (auto& [id, one] : processes_) {
      if (!runs(one)) continue;
      if (one.connects && part_of(id) == 0) {
        one.connects = false;
        one.is_connected = true;
        send({.to_or_from = id, .to_service = true, .report = one.state});
      }
      if (one.is_connected && part_of(id) == 0) service_->hear(id, now());
    }
    for (int k = 0; k < 20; ++k) {
      membership_rules::decision const next = service_->decide(now());
      if (next.is_empty()) break;
      for (process_id const id : next.close)
        if (processes_.at(id).alive) {
          processes_.at(id).is_connected = false;
          processes_.at(id).connects = true;
        }
      for (process_id const id : next.end) send({.to_or_from = id, .is = message::kind::end});
      if (next.claim) {
        std::optional<bool> ours;
        if (has_claims_) ours = claims_.insert(*next.claim).second;
        service_->claimed(*next.claim, ours);
      }
      if (!next.begin) continue;
      was_begun_ = true;
      for (process_id const id : next.begin->members)
        send({.to_or_from = id, .is = message::kind::begin, .next = *next.begin});
    }
    train();
  }

  void deliver() {
    std::vector<message> rest;
    std::vector<message> const all = std::exchange(messages_, {});
    for (message const& m : all) {
      process& one = processes_.at(m.to_or_from);
      bool const is_late = m.due > tick_ || part_of(m.to_or_from) != 0 || (!m.to_service && !runs(one));
      if (is_late && one.is_connected) {
        rest.push_back(m);
        continue;
      }
      if (!one.is_connected || m.start != service_start_) continue;
      if (m.to_service) {
        service_->report(m.to_or_from, m.report, now());
      } else if (m.is == message::kind::begin) {
        one.state.begin(m.to_or_from, m.next);
      } else if (one.state.trains) {
        wait(m.to_or_from, {});
      }
    }
    rest.insert(rest.end(), messages_.begin(), messages_.end());
    messages_ = std::move(rest);
  }

  void wait(process_id id, std::vector<process_id> lost) {
    process& one = processes_.at(id);
    one.state.withdraw(one.state.step, std::move(lost));
    one.connects = one.connects || !one.is_connected;
    if (one.is_connected) send({.to_or_from = id, .to_service = true, .report = one.state});
  }

  /// Whether all members have accepted the membership and reach each other.
  bool can_step(membership const& all) const {
    return std::ranges::all_of(all.members, [&](process_id id) {
      auto const found = processes_.find(id);
      return found != processes_.end() && runs(found->second) && found->second.state.trains
             && found->second.state.accepted == all && part_of(id) == part_of(all.members[0]);
    });
  }

  void train() {
    std::map<std::int64_t, membership> known;
    for (auto const& [id, one] : processes_)
      if (runs(one) && one.state.trains) known[one.state.accepted.number] = one.state.accepted;
    int progressing = 0;
    for (auto const& [number, all] : known) {
      if (can_step(all)) {
        step(all);
        ++progressing;
      } else {
        lose_members(all);
      }
    }
    ASSERT_LE(progressing, 1) << "tick " << tick_ << ": two memberships make steps";
  }

  /// A member sees at once that another has ended, left or no longer trains with it; silence only after the
  /// limit.
  void lose_members(membership const& all) {
    std::vector<process_id> lost;
    bool ends = false;
    for (process_id const id : all.members) {
      process const& one = processes_.at(id);
      bool const gone = !one.alive || one.left;
      bool const other = one.state.accepted.number > all.number
                         || (one.state.accepted.number == all.number && !one.state.trains);
      if (gone) lost.push_back(id);
      ends = ends || gone || other;
    }
    auto& since = stuck_since_.try_emplace(all.number, tick_).first->second;
    if (!ends && (tick_ - since) * 50ms <= silence) return;
    for (process_id const id : all.members)
      if (process& one = processes_.at(id); runs(one) && one.state.trains && one.state.accepted == all)
        wait(id, lost);
  }

  void step(membership const& all) {
    stuck_since_.erase(all.number);
    if (!progressed_.contains(all.number)) return begin(all);
    // Some members may not see the end of the last step.
    bool const is_torn = pick(0, 9) == 0;
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
    ASSERT_GE(newest->state.step, newest_step_ - 1)
        << "tick " << tick_ << ", membership " << all.number << ": more than one step is lost";
    std::int64_t const step = newest->state.step, line = newest->line;
    int const torn = pick(0, 9);  // 0: some members load the state; 1: all load it, and some confirm
    for (process_id const id : all.members) {
      process& one = processes_.at(id);
      if (torn == 0 && pick(0, 1) == 0) continue;
      one.state.load();
      one.state.accepts_processes = true;
      one.state.step = step;
      one.line = line;
      if (torn > 1 || (torn == 1 && pick(0, 1) == 0)) one.state.confirm();
      if (one.is_connected) send({.to_or_from = id, .to_service = true, .report = one.state});
    }
    if (torn < 2) {
      for (process_id const id : all.members) wait(id, {});
      return;
    }
    progressed_.insert(all.number);
    newest_step_ = step;
    last_ = all;
  }

  /// After the last fault, the job goes on unless half of the members of its last memberships have ended.
  void check_liveness() {
    if (::testing::Test::HasFatalFailure()) return;
    int alive = 0;
    for (auto const& [id, one] : processes_) alive += runs(one);
    if (alive < least_ || last_.members.empty()) return;
    membership newest = last_;
    for (auto const& [id, one] : processes_)
      if (runs(one) && one.state.accepted.number > newest.number) newest = one.state.accepted;
    for (membership const* one : {&last_, &newest}) {
      auto const there =
          std::ranges::count_if(one->members, [&](process_id id) { return runs(processes_.at(id)); });
      if (2 * there <= std::ssize(one->members)) return;
    }
    std::int64_t const before = executions_;
    for (int k = 0; k < 100; ++k, ++tick_) advance();
    EXPECT_GT(executions_, before) << "the job does not go on";
  }

  std::mt19937_64 random_;
  int faults_ = 0, ranks_ = 1, least_ = 1, most_ = 1, tick_ = 0;
  bool has_claims_ = false, was_begun_ = false;
  std::multiset<int> fault_at_;
  std::optional<membership_rules> service_;
  std::int64_t service_start_ = 0, executions_ = 0, newest_step_ = 0;
  process_id last_process_ = 0;
  std::map<process_id, process> processes_;
  std::map<process_id, int> parts_;
  std::vector<message> messages_;
  std::map<std::pair<process_id, bool>, int> last_due_;
  std::set<std::int64_t> claims_, progressed_;
  std::map<std::int64_t, int> stuck_since_;
  membership last_;
};

}  // namespace simulated_membership
