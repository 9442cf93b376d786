// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <chrono>
#include <cohort/communicator/detail/transport.hpp>
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

namespace cohort {

namespace detail {

/// A send or a receive under way, kept by its rank. A send also stands in the receiver's place until that takes it.
struct parcel {
  enum state : int { posted, ended, misfit };

  int peer = 0;  // the receiver of a send, the sender of a receive
  int from = 0;
  channel on = channel::collective;
  std::uint32_t tag = 0;
  std::byte const* source = nullptr;  // of a send
  elements into{};                    // of a receive
  std::optional<reduction> how{};     // of a receive that combines
  std::size_t bytes = 0;
  std::size_t came = 0;  // the size of what did not fit
  bool sends = false;
  bool used = false;
  std::atomic<int> is{ended};

  bool meets(parcel const& other) const { return from == other.from && on == other.on && tag == other.tag; }
};

/// What the ranks of one process share.
struct thread_hub {
  using clock = std::chrono::steady_clock;

  struct alignas(64) place {
    std::mutex mutex;  // guards:
    std::condition_variable changed;
    std::vector<parcel*> sent{};  // to this rank, in the order posted
    rank_progress where{};
    bool ended = false;

    std::atomic<std::uint64_t> events{0};
    std::atomic<int> sleepers{0};
    std::atomic<clock::rep> seen{0};  // the last sign of life
  };

  thread_hub(int ranks, std::string_view called) : name(called), places(static_cast<std::size_t>(ranks)) {}

  std::string const name;
  std::vector<place> places;
  std::atomic<bool> lost{false};
  std::mutex mutex;  // guards:
  std::string why;

  place& of(int rank) { return places[static_cast<std::size_t>(rank)]; }

  void wake(place& one);

  void announce(std::string const& reason);
  std::optional<std::string> trouble();
};

/// Messages between threads. The receiver copies from the sender's memory, or sums from it, when it looks whether its
/// receives are done: so two ranks that exchange work at the same time, and nobody writes to another's memory.
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

  bool wants_a_thread() const override { return false; }
  void move() override { mine_.seen.store(now(), std::memory_order_relaxed); }
  void doze(std::chrono::microseconds longest) override;

  void note(rank_progress here) noexcept override;
  std::vector<standing> ask(std::chrono::milliseconds patience) override;
  void announce(std::string const& why) noexcept override { hub_->announce(why); }
  std::optional<std::string> trouble() const override { return hub_->trouble(); }

  void abandon() noexcept override;
  void leave() noexcept override;

 private:
  static thread_hub::clock::rep now();

  /// More than are needed: how many are in use at once changes from run to run, and shall not allocate in a step.
  void make_parcels();

  ticket unused();

  ticket want(int from, channel on, std::uint32_t tag, elements into, std::optional<reduction> how);

  /// Brings together, in the order posted, what this rank wants and what was sent to it.
  void take_what_came();

  struct pair {
    parcel* sent;
    parcel* wanted;
  };

  std::shared_ptr<thread_hub> hub_;
  thread_hub::place& mine_;
  int const rank_;
  isa const vectors_ = best_isa();
  std::vector<std::unique_ptr<parcel>> parcels_;
  std::vector<parcel*> wanted_;  // receives that nothing has met yet, in the order posted
  std::vector<pair> met_;
  bool look_ = false;
  std::uint64_t looked_at_ = 0;
  std::uint64_t slept_through_ = 0;
};

}  // namespace detail

/// Ranks that are threads of this process: each thread makes its own communicator, or is handed it.
///
/// Order     make may be called by any thread, once for each rank. The object may go before what it has made.
/// Errors    setting_error for fewer than one rank, a rank out of range or made before, a deadline out of range.
class thread_ranks {
 public:
  explicit thread_ranks(int size, communicator_settings settings = {}, std::string_view name = "threads");

  int size() const { return static_cast<int>(made_.size()); }
  communicator_settings const& settings() const { return settings_; }

  std::unique_ptr<communicator> make(int rank);

  /// When a rank last began or moved an operation, before the first of them the clock's beginning.
  std::chrono::steady_clock::time_point last_sign(int rank) const;
  /// Why all ranks had to give up, if they had.
  std::optional<std::string> trouble() const { return hub_->trouble(); }

 private:
  communicator_settings settings_;
  std::mutex mutex_;
  std::vector<bool> made_;
  std::shared_ptr<detail::thread_hub> hub_;
};

/// One rank: the calling program itself.
std::unique_ptr<communicator> make_self(communicator_settings settings = {});

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/thread_ranks.ipp>
#endif
