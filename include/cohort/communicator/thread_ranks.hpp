// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cohort/communicator/detail/combine.hpp>
#include <cohort/communicator/detail/transport.hpp>
#include <cohort/communicator/message_communicator.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/isa.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
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

  void wake(place& one) {
    one.events.fetch_add(1);
    if (one.sleepers.load() == 0) return;
    { std::lock_guard const lock(one.mutex); }
    one.changed.notify_all();
  }

  void announce(std::string const& reason) {
    {
      std::lock_guard const lock(mutex);
      if (lost.load()) return;
      why = reason;
      lost.store(true);
    }
    for (place& one : places) wake(one);
  }
  std::optional<std::string> trouble() {
    if (!lost.load()) return std::nullopt;
    std::lock_guard const lock(mutex);
    return why;
  }
};

/// Messages between threads. The receiver copies from the sender's memory, or sums from it, when it looks whether its
/// receives are done: so two ranks that exchange work at the same time, and nobody writes to another's memory.
class thread_transport final : public transport {
 public:
  thread_transport(std::shared_ptr<thread_hub> shared, int rank)
      : hub_(std::move(shared)), mine_(hub_->of(rank)), rank_(rank) {
    make_parcels();
  }

  std::string_view name() const override { return hub_->name; }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(hub_->places.size()); }

  ticket send(int to, channel on, std::uint32_t tag, std::span<std::byte const> data) override {
    ticket const one = unused();
    parcel& p = *parcels_[one - 1];
    p.peer = to;
    p.from = rank_;
    p.on = on;
    p.tag = tag;
    p.source = data.data();
    p.sends = true;
    p.bytes = data.size();
    thread_hub::place& there = hub_->of(to);
    {
      std::lock_guard const lock(there.mutex);
      there.sent.push_back(&p);
    }
    hub_->wake(there);
    return one;
  }
  ticket receive(int from, channel on, std::uint32_t tag, std::span<std::byte> data) override {
    return want(from, on, tag, {data.data(), element_type::u8, data.size()}, std::nullopt);
  }
  bool combines() const override { return true; }
  ticket receive_combining(int from, channel on, std::uint32_t tag, elements into, reduction how) override {
    return want(from, on, tag, into, how);
  }
  bool done(ticket one) override {
    if (look_ || mine_.events.load() != looked_at_) take_what_came();
    parcel& p = *parcels_[one - 1];
    int const is = p.is.load(std::memory_order_acquire);
    if (is == parcel::posted) return false;
    p.used = false;
    if (is == parcel::misfit)
      throw communicator_error({.what = {"a message of rank ", p.from, " does not fit"},
                                .expected = {p.bytes, " bytes"},
                                .got = {p.came}});
    return true;
  }
  std::optional<waiting> probe(int from, channel on, std::uint32_t tag) override {
    std::lock_guard const lock(mine_.mutex);
    auto const& sent = mine_.sent;
    for (auto p = sent.begin(); p != sent.end(); ++p) {
      if ((*p)->on != on || (*p)->tag != tag || (from >= 0 && (*p)->from != from)) continue;
      auto const alike = [&](parcel const* other) { return other->meets(**p); };
      if (std::count_if(sent.begin(), p, alike) >= std::count_if(wanted_.begin(), wanted_.end(), alike))
        return waiting{(*p)->from, (*p)->bytes};  // the first of them are for the receives that wait already
    }
    return std::nullopt;
  }

  bool wants_a_thread() const override { return false; }
  void move() override { mine_.seen.store(now(), std::memory_order_relaxed); }
  void doze(std::chrono::microseconds longest) override {
    std::unique_lock lock(mine_.mutex);
    mine_.sleepers.fetch_add(1);
    mine_.changed.wait_for(lock, longest, [&] { return mine_.events.load() != slept_through_; });
    mine_.sleepers.fetch_sub(1);
    slept_through_ = mine_.events.load();
  }

  void note(rank_progress here) noexcept override {
    std::lock_guard const lock(mine_.mutex);
    mine_.where = here;
  }
  std::vector<standing> ask(std::chrono::milliseconds patience) override {
    auto const asked = now();
    auto const answered = [&](thread_hub::place const& p) {
      constexpr auto just_before = thread_hub::clock::duration(std::chrono::milliseconds(20)).count();
      return p.seen.load(std::memory_order_relaxed) >= asked - just_before;
    };
    std::vector<standing> all(hub_->places.size());
    for (std::size_t r = 0; r < all.size(); ++r) {  // who comes while it is asked was late all the same
      std::lock_guard const lock(hub_->places[r].mutex);
      all[r].where = hub_->places[r].where;
    }
    for (auto const limit = thread_hub::clock::now() + patience;;) {
      move();
      bool complete = true;
      for (std::size_t r = 0; r < all.size(); ++r) {
        thread_hub::place& p = hub_->places[r];
        std::lock_guard const lock(p.mutex);
        all[r].answers = &p == &mine_ || answered(p);
        all[r].ended = p.ended;
        complete = complete && (all[r].answers || all[r].ended);
      }
      if (complete || hub_->lost.load() || thread_hub::clock::now() >= limit) return all;
      doze(std::chrono::milliseconds(1));
    }
  }
  void announce(std::string const& why) noexcept override { hub_->announce(why); }
  std::optional<std::string> trouble() const override { return hub_->trouble(); }

  void abandon() noexcept override {
    for (auto const& p : parcels_) {
      if (!p->used || !p->sends) continue;
      thread_hub::place& there = hub_->of(p->peer);
      std::unique_lock lock(there.mutex);
      if (std::erase(there.sent, p.get()) > 0) p->is.store(parcel::ended);
      lock.unlock();
      while (p->is.load(std::memory_order_acquire) == parcel::posted)
        std::this_thread::yield();  // it is being read
    }
  }
  void leave() noexcept override {
    std::lock_guard const lock(mine_.mutex);
    mine_.ended = true;
  }

 private:
  static thread_hub::clock::rep now() { return thread_hub::clock::now().time_since_epoch().count(); }

  /// More than are needed: how many are in use at once changes from run to run, and shall not allocate in a step.
  void make_parcels() {
    constexpr std::size_t at_first = 64;
    std::size_t const many = std::max(at_first, 2 * parcels_.size());
    while (parcels_.size() < many) parcels_.push_back(std::make_unique<parcel>());
    wanted_.reserve(many);
    met_.reserve(many);
    std::lock_guard const lock(mine_.mutex);
    mine_.sent.reserve(many);
  }

  ticket unused() {
    std::size_t free = 0;
    while (free < parcels_.size() && parcels_[free]->used) ++free;
    if (free == parcels_.size()) make_parcels();
    parcels_[free]->used = true;
    parcels_[free]->is.store(parcel::posted, std::memory_order_relaxed);
    return free + 1;
  }

  ticket want(int from, channel on, std::uint32_t tag, elements into, std::optional<reduction> how) {
    ticket const one = unused();
    parcel& p = *parcels_[one - 1];
    p.peer = p.from = from;
    p.on = on;
    p.tag = tag;
    p.into = into;
    p.sends = false;
    p.how = how;
    p.bytes = into.bytes();
    wanted_.push_back(&p);
    look_ = true;
    return one;
  }

  /// Brings together, in the order posted, what this rank wants and what was sent to it.
  void take_what_came() {
    look_ = false;
    looked_at_ = mine_.events.load();
    met_.clear();
    {
      std::lock_guard const lock(mine_.mutex);
      std::erase_if(wanted_, [&](parcel* wanted) {
        auto const found = std::find_if(mine_.sent.begin(), mine_.sent.end(),
                                        [&](parcel* sent) { return sent->meets(*wanted); });
        if (found == mine_.sent.end()) return false;
        met_.push_back({*found, wanted});
        mine_.sent.erase(found);
        return true;
      });
    }
    for (auto const& [sent, wanted] : met_) {
      thread_hub::place& there = hub_->of(sent->from);
      bool const fits = sent->bytes == wanted->bytes;
      if (fits && wanted->how)
        combine(vectors_, wanted->into, sent->source, *wanted->how);
      else if (fits && sent->bytes > 0)
        std::memcpy(wanted->into.data, sent->source, sent->bytes);
      wanted->came = sent->bytes;
      wanted->is.store(fits ? parcel::ended : parcel::misfit, std::memory_order_relaxed);
      sent->is.store(parcel::ended, std::memory_order_release);  // its rank's from here on
      hub_->wake(there);
    }
  }

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
  explicit thread_ranks(int size, communicator_settings settings = {}, std::string_view name = "threads")
      : settings_(std::move(settings)), made_(static_cast<std::size_t>(std::max(size, 0))) {
    if (size < 1)
      throw setting_error({.what = "a communicator needs ranks", .expected = "at least 1", .got = {size}});
    hub_ = std::make_shared<detail::thread_hub>(size, name);
    if (settings_.log)  // one thread at a time, over all ranks
      settings_.log = [log = settings_.log, mutex = std::make_shared<std::mutex>()](std::string_view line) {
        std::lock_guard const lock(*mutex);
        log(line);
      };
  }

  int size() const { return static_cast<int>(made_.size()); }
  communicator_settings const& settings() const { return settings_; }

  std::unique_ptr<communicator> make(int rank) {
    std::lock_guard const lock(mutex_);
    if (rank < 0 || rank >= size() || made_[static_cast<std::size_t>(rank)])
      throw setting_error(
          {.what = "a rank is made once", .expected = {"0 to ", size() - 1, ", each once"}, .got = {rank}});
    auto made = make_communicator(std::make_unique<detail::thread_transport>(hub_, rank), settings_);
    made_[static_cast<std::size_t>(rank)] = true;
    return made;
  }

  /// When a rank last began or moved an operation, before the first of them the clock's beginning.
  std::chrono::steady_clock::time_point last_sign(int rank) const {
    using clock = detail::thread_hub::clock;
    return clock::time_point(clock::duration(hub_->of(rank).seen.load(std::memory_order_relaxed)));
  }
  /// Why all ranks had to give up, if they had.
  std::optional<std::string> trouble() const { return hub_->trouble(); }

 private:
  communicator_settings settings_;
  std::mutex mutex_;
  std::vector<bool> made_;
  std::shared_ptr<detail::thread_hub> hub_;
};

/// One rank: the calling program itself.
inline std::unique_ptr<communicator> make_self(communicator_settings settings = {}) {
  return thread_ranks(1, std::move(settings), "self").make(0);
}

}  // namespace cohort
