// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/communicator/detail/transport.hpp>
#include <cohort/detail/chrono.hpp>
#include <cohort/execution/isa.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// A posted send or receive, owned by its rank. A send is also listed in the receiver's rank_state until the
/// receiver matches it.
struct posted_message {
  enum state : int { posted, ended, misfit };

  int peer = 0;  // the receiver of a send, the sender of a receive
  int from = 0;
  channel on = channel::collective;
  std::uint32_t tag = 0;
  std::byte const* source = nullptr;  // data of a send
  elements into{};                    // destination of a receive
  std::optional<reduction> how{};     // reduction of a receive that combines
  std::size_t bytes = 0;
  std::size_t received_bytes = 0;  // size of the matched send
  bool sends = false;
  bool used = false;
  std::atomic<int> is{ended};

  bool matches(posted_message const& other) const {
    return from == other.from && on == other.on && tag == other.tag;
  }
};

/// State shared by the ranks of one process.
struct thread_hub {
  using clock = std::chrono::steady_clock;

  struct alignas(64) rank_state {
    std::mutex mutex;  // guards the members before the blank line:
    std::condition_variable changed;
    std::vector<posted_message*> sent{};  // sends to this rank, in the order posted
    rank_progress where{};
    bool ended = false;

    std::atomic<int> waits_for{rank_status::nobody};
    std::atomic<std::uint64_t> events{0};
    std::atomic<int> sleepers{0};
    std::atomic<clock::rep> last_activity{0};  // time of the last call that made progress
  };

  thread_hub(int ranks, std::string_view called) : name(called), places(static_cast<std::size_t>(ranks)) {}

  std::string const name;
  std::vector<rank_state> places;
  std::atomic<bool> lost{false};
  std::mutex mutex;  // guards `why`
  failure_report why;

  rank_state& of(int rank) { return places[static_cast<std::size_t>(rank)]; }

  void wake(rank_state& one);

  void announce(failure_report const& reason);
  std::optional<failure_report> trouble();
};

/// Transport between threads of one process. When a receiver checks whether its receives are done, it copies
/// or combines the data from the sender's memory. Two ranks that exchange data thus work in parallel, and no
/// rank writes to another rank's memory.
class thread_transport final : public transport {
 public:
  thread_transport(std::shared_ptr<thread_hub> shared, int rank);

  std::string_view name() const override { return hub_->name; }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(hub_->places.size()); }

  ticket send(int to, channel on, std::uint32_t tag, std::span<std::byte const> data) override;
  ticket receive(int from, channel on, std::uint32_t tag, std::span<std::byte> data) override;
  bool combines() const override { return true; }
  ticket receive_combining(int from, channel on, std::uint32_t tag, elements into, reduction how) override;
  bool done(ticket one) override;
  std::optional<waiting> probe(int from, channel on, std::uint32_t tag) override;

  bool needs_progress_thread() const override { return false; }
  void make_progress() override { own_state_.last_activity.store(now(), std::memory_order_relaxed); }
  void wait_for_event(std::chrono::microseconds longest) override;

  void note(rank_progress here) noexcept override;
  void note_wait(int waits_for) noexcept override { own_state_.waits_for.store(waits_for); }
  std::vector<rank_status> query_ranks(std::chrono::milliseconds patience) override;
  void announce(failure_report const& why) noexcept override { hub_->announce(why); }
  std::optional<failure_report> trouble() const override { return hub_->trouble(); }

  void abandon() noexcept override;
  void leave() noexcept override;

 private:
  static thread_hub::clock::rep now();

  /// Allocates more messages than needed, because the number in use varies between runs, and a step must not
  /// allocate.
  void grow_messages();

  ticket acquire_message();

  ticket post_receive(int from, channel on, std::uint32_t tag, elements into, std::optional<reduction> how);

  /// Matches posted receives and sends in the order posted, and copies or combines their data.
  void match_and_copy();

  struct pair {
    posted_message* sent;
    posted_message* receive;
  };

  std::shared_ptr<thread_hub> hub_;
  thread_hub::rank_state& own_state_;
  int const rank_;
  isa const isa_ = best_isa();
  std::vector<std::unique_ptr<posted_message>> messages_;
  std::vector<posted_message*> unmatched_receives_;  // sorted by the order of posting
  std::vector<pair> matched_;
  bool has_new_receives_ = false;
  std::uint64_t matched_events_ = 0;
  std::uint64_t slept_events_ = 0;
};

}  // namespace cohort::detail
