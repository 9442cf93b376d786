// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/communicator/detail/combine.hpp>
#include <cohort/communicator/message_communicator.hpp>
#include <cohort/communicator/thread_ranks.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstring>
#include <thread>
#include <utility>

namespace cohort::detail {

COHORT_CORE_INLINE void thread_hub::wake(place& one) {
  one.events.fetch_add(1);
  if (one.sleepers.load() == 0) return;
  { std::lock_guard const lock(one.mutex); }
  one.changed.notify_all();
}

COHORT_CORE_INLINE void thread_hub::announce(std::string const& reason) {
  {
    std::lock_guard const lock(mutex);
    if (lost.load()) return;
    why = reason;
    lost.store(true);
  }
  for (place& one : places) wake(one);
}

COHORT_CORE_INLINE std::optional<std::string> thread_hub::trouble() {
  if (!lost.load()) return std::nullopt;
  std::lock_guard const lock(mutex);
  return why;
}

COHORT_CORE_INLINE thread_transport::thread_transport(std::shared_ptr<thread_hub> shared, int rank)
    : hub_(std::move(shared)), mine_(hub_->of(rank)), rank_(rank) {
  make_parcels();
}

COHORT_CORE_INLINE thread_transport::ticket thread_transport::send(int to, channel on, std::uint32_t tag,
                                                                   std::span<std::byte const> data) {
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

COHORT_CORE_INLINE thread_transport::ticket thread_transport::receive(int from, channel on, std::uint32_t tag,
                                                                      std::span<std::byte> data) {
  return want(from, on, tag, {data.data(), element_type::u8, data.size()}, std::nullopt);
}

COHORT_CORE_INLINE thread_transport::ticket thread_transport::receive_combining(int from, channel on,
                                                                                std::uint32_t tag,
                                                                                elements into,
                                                                                reduction how) {
  return want(from, on, tag, into, how);
}

COHORT_CORE_INLINE bool thread_transport::done(ticket one) {
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

COHORT_CORE_INLINE std::optional<thread_transport::waiting> thread_transport::probe(int from, channel on,
                                                                                    std::uint32_t tag) {
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

COHORT_CORE_INLINE void thread_transport::doze(std::chrono::microseconds longest) {
  std::unique_lock lock(mine_.mutex);
  mine_.sleepers.fetch_add(1);
  mine_.changed.wait_for(lock, longest, [&] { return mine_.events.load() != slept_through_; });
  mine_.sleepers.fetch_sub(1);
  slept_through_ = mine_.events.load();
}

COHORT_CORE_INLINE void thread_transport::note(rank_progress here) noexcept {
  std::lock_guard const lock(mine_.mutex);
  mine_.where = here;
}

COHORT_CORE_INLINE std::vector<standing> thread_transport::ask(std::chrono::milliseconds patience) {
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

COHORT_CORE_INLINE void thread_transport::abandon() noexcept {
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

COHORT_CORE_INLINE void thread_transport::leave() noexcept {
  std::lock_guard const lock(mine_.mutex);
  mine_.ended = true;
}

COHORT_CORE_INLINE thread_hub::clock::rep thread_transport::now() {
  return thread_hub::clock::now().time_since_epoch().count();
}

COHORT_CORE_INLINE void thread_transport::make_parcels() {
  constexpr std::size_t at_first = 64;
  std::size_t const many = std::max(at_first, 2 * parcels_.size());
  while (parcels_.size() < many) parcels_.push_back(std::make_unique<parcel>());
  wanted_.reserve(many);
  met_.reserve(many);
  std::lock_guard const lock(mine_.mutex);
  mine_.sent.reserve(many);
}

COHORT_CORE_INLINE thread_transport::ticket thread_transport::unused() {
  std::size_t free = 0;
  while (free < parcels_.size() && parcels_[free]->used) ++free;
  if (free == parcels_.size()) make_parcels();
  parcels_[free]->used = true;
  parcels_[free]->is.store(parcel::posted, std::memory_order_relaxed);
  return free + 1;
}

COHORT_CORE_INLINE thread_transport::ticket thread_transport::want(int from, channel on, std::uint32_t tag,
                                                                   elements into,
                                                                   std::optional<reduction> how) {
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

COHORT_CORE_INLINE void thread_transport::take_what_came() {
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

}  // namespace cohort::detail

namespace cohort {

COHORT_CORE_INLINE thread_ranks::thread_ranks(int size, communicator_settings settings, std::string_view name)
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

COHORT_CORE_INLINE std::unique_ptr<communicator> thread_ranks::make(int rank) {
  std::lock_guard const lock(mutex_);
  if (rank < 0 || rank >= size() || made_[static_cast<std::size_t>(rank)])
    throw setting_error(
        {.what = "a rank is made once", .expected = {"0 to ", size() - 1, ", each once"}, .got = {rank}});
  auto made = make_communicator(std::make_unique<detail::thread_transport>(hub_, rank), settings_);
  made_[static_cast<std::size_t>(rank)] = true;
  return made;
}

COHORT_CORE_INLINE std::chrono::steady_clock::time_point thread_ranks::last_sign(int rank) const {
  using clock = detail::thread_hub::clock;
  return clock::time_point(clock::duration(hub_->of(rank).seen.load(std::memory_order_relaxed)));
}

COHORT_CORE_INLINE std::unique_ptr<communicator> make_self(communicator_settings settings) {
  return thread_ranks(1, std::move(settings), "self").make(0);
}

}  // namespace cohort
