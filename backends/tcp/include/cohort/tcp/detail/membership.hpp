// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cohort/detail/chrono.hpp>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Identifies a process of an elastic job: a random number, new in each process.
using process_id = std::uint64_t;

/// The processes that train together, in the order of their ranks.
struct membership {
  std::int64_t number = 0;  ///< increases from membership to membership; 0: none
  std::vector<process_id> members{};
  std::int64_t origin = 0;  ///< number of the newest confirmed membership before this one; 0: none

  bool contains(process_id peer) const;
  bool operator==(membership const&) const = default;
};

/// State of a process, as the process reports it to the membership service.
struct member_report {
  bool trains = false;     ///< trains in `accepted`; otherwise waits for the next membership
  std::int64_t step = 0;   ///< number of completed steps
  membership confirmed{};  ///< the last membership in which all members had the run's state
  /// Memberships that the process has accepted since, in their order: others may have confirmed them.
  std::vector<membership> attempts{};
  std::int64_t loaded = 0;         ///< number of the last membership in which the process had the run's state
  bool accepts_processes = false;  ///< processes may join while this process trains
  /// Processes whose connections to this process have ended.
  std::vector<process_id> lost{};

  /// The last membership that the process has accepted.
  membership const& accepted() const { return attempts.empty() ? confirmed : attempts.back(); }
  /// Leaves the accepted membership for good.
  void withdraw(std::int64_t steps, std::vector<process_id> without);
  /// Accepts the next membership. Returns false for one that this process does not wait for.
  bool begin(process_id self, membership const& next);
  /// This process has the state of the run in the accepted membership.
  void load() { loaded = accepted().number; }
  /// All members have the state of the run in the accepted membership.
  void confirm();
};

/// Rules by which the membership of an elastic job changes. A pure state machine without clock and sockets.
///
/// A membership can make a step only with all of its members. A process waits for the next membership, and
/// leaves the last one for good, before the next one can contain it. Two memberships with a common member
/// therefore never both make steps. Disjoint ones are excluded because the next membership contains more than
/// half of the last one's members, or exactly half of them and the claim of the last one. "Last" are the
/// newest confirmed membership that the waiting processes know, and all later ones that they have accepted:
/// processes that cannot be reached may have confirmed any of these.
/// Source    Yeger Lotem, Keidar, Dolev: Dynamic voting for consistent primary components, PODC 1997.
///
/// Order     one thread at a time. After every call of the other functions, and at least every 100 ms, call
///           `decide` until the result is empty.
class membership_rules {
 public:
  using clock = std::chrono::steady_clock;

  struct settings {
    int ranks = 1;            ///< processes of the first membership
    int least = 1, most = 1;  ///< bounds of the number of members
    /// A process that is silent for this time counts as lost. If it trains, others must report it as lost,
    /// too, or the time must have passed twice: after a short outage, TCP sends again only after as long a
    /// time.
    clock::duration silence{};
    clock::duration time_to_join{};  ///< after this time without a new process, fewer than `ranks` begin
    bool may_be_first = true;        ///< false: a membership exists, although this service does not know it
  };
  /// Tasks of the service.
  struct decision {
    std::vector<process_id> end{};      ///< tell these to end the step and to wait for the next membership
    std::vector<process_id> close{};    ///< close the connections of these: they are silent
    std::optional<membership> claim{};  ///< claim this membership for `claimant`, then call `claimed`
    process_id claimant = 0;
    std::optional<membership> begin{};  ///< send this to its members

    bool is_empty() const { return end.empty() && close.empty() && !claim && !begin; }
  };

  membership_rules(settings wanted, clock::time_point time) : how_(wanted), started_(time) {}

  /// A process has connected, or its state has changed.
  void report(process_id from, member_report state, clock::time_point time);
  /// A process was heard.
  void hear(process_id from, clock::time_point time);
  /// The connection of a process has ended. The process may connect again. `by_its_kernel`: the operating
  /// system of the process closed the connection.
  void lose(process_id peer, bool by_its_kernel);
  /// Returns whether enough members are left if this process leaves.
  bool may_leave(process_id peer) const;
  /// A process has left on request, and never trains again.
  void leave(process_id peer);
  /// The answer to decision::claim: the process for which the membership was claimed first. Only a side with
  /// this process may use the claim. nullopt: there is no place where memberships are claimed.
  void claimed(membership const& last, std::optional<process_id> by);

  decision decide(clock::time_point time);

  membership const& current() const { return current_; }
  /// Number of processes that wait for the next membership.
  int waiting() const;

 private:
  struct process {
    member_report last{};
    clock::time_point heard{};
    std::int64_t arrival = 0;
    bool is_connected = false;
    bool has_left = false;
    bool ended_by_kernel = false;
    bool was_told_to_end = false;
  };
  enum class quorum { none, half, majority };

  bool waits(process const& peer) const { return peer.is_connected && !peer.last.trains; }
  bool trains(process const& peer) const { return peer.is_connected && peer.last.trains; }
  /// Whether a process that waits has lost its connection to this one.
  bool is_reported_lost(process_id peer) const;
  bool is_silent(process_id id, clock::time_point time) const;
  /// Whether the process may still connect, because the service has just begun.
  bool may_still_connect(process_id peer, clock::time_point time) const;
  bool must_change(clock::time_point time) const;
  /// The part of the members of `last` that `next` contains, of those that have not left.
  quorum present(membership const& last, membership const& next) const;
  bool all_missing_ended_by_kernel(membership const& last) const;
  /// The newest confirmed membership that a waiting process reports, and all later ones that waiting
  /// processes have accepted, in the order of their numbers. Without a confirmed one, also the last one of
  /// this service.
  std::vector<membership> last_memberships() const;
  /// At most `most` waiting processes: one with the newest state, more than half of each last membership if
  /// possible, then others with the state, then members of more of the last memberships.
  std::vector<process_id> next_members(std::vector<membership> const& all_last, std::int64_t loaded) const;
  /// Whether the rules may still need the process: it is connected, or a member of a membership that is not
  /// forgotten.
  bool is_needed(process_id peer) const;
  /// Sets decision::claim or decision::begin if the waiting processes may begin.
  void form(clock::time_point time, decision& result);

  settings how_;
  clock::time_point started_{};
  std::map<process_id, process> processes_;
  membership current_{};  // the newest one that the service knows
  std::int64_t arrivals_ = 0;
  clock::time_point last_arrival_{};
  std::vector<std::pair<membership, std::optional<process_id>>> claims_;  // answers
};

}  // namespace cohort::detail
