// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/communicator/detail/combine.hpp>
#include <cohort/communicator/detail/thread_transport.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstring>
#include <thread>
#include <utility>

namespace cohort::detail {

void thread_hub::wake(rank_state& one) {
  one.events.fetch_add(1);
  if (one.sleepers.load() == 0) return;
  { std::lock_guard const lock(one.mutex); }
  one.changed.notify_all();
}

void thread_hub::announce(failure_report const& reason) {
  {
    std::lock_guard const lock(mutex);
    if (lost.load()) return;
    why = reason;
    lost.store(true);
  }
  for (rank_state& one : places) wake(one);
}

std::optional<failure_report> thread_hub::trouble() {
  if (!lost.load()) return std::nullopt;
  std::lock_guard const lock(mutex);
  return why;
}

thread_transport::thread_transport(std::shared_ptr<thread_hub> shared, int rank)
    : hub_(std::move(shared)), own_state_(hub_->of(rank)), rank_(rank) {
  grow_messages();
}

thread_transport::ticket thread_transport::send(int to, channel on, std::uint32_t tag,
                                                std::span<std::byte const> data) {
  ticket const one = acquire_message();
  posted_message& p = *messages_[one - 1];
  p.peer = to;
  p.from = rank_;
  p.on = on;
  p.tag = tag;
  p.source = data.data();
  p.sends = true;
  p.bytes = data.size();
  thread_hub::rank_state& there = hub_->of(to);
  {
    std::lock_guard const lock(there.mutex);
    there.sent.push_back(&p);
  }
  hub_->wake(there);
  return one;
}

thread_transport::ticket thread_transport::receive(int from, channel on, std::uint32_t tag,
                                                   std::span<std::byte> data) {
  return post_receive(from, on, tag, {data.data(), element_type::u8, data.size()}, std::nullopt);
}

thread_transport::ticket thread_transport::receive_combining(int from, channel on, std::uint32_t tag,
                                                             elements into, reduction how) {
  return post_receive(from, on, tag, into, how);
}

bool thread_transport::done(ticket one) {
  if (has_new_receives_ || own_state_.events.load() != matched_events_) match_and_copy();
  posted_message& p = *messages_[one - 1];
  int const is = p.is.load(std::memory_order_acquire);
  if (is == posted_message::posted) return false;
  p.used = false;
  if (is == posted_message::misfit)
    throw communicator_error({.what = {"a message from rank ", p.from, " has the wrong size"},
                              .expected = {p.bytes, " bytes"},
                              .got = {p.received_bytes, " bytes"}},
                             own_error_status);
  return true;
}

std::optional<thread_transport::waiting> thread_transport::probe(int from, channel on, std::uint32_t tag) {
  std::lock_guard const lock(own_state_.mutex);
  auto const& sent = own_state_.sent;
  for (auto p = sent.begin(); p != sent.end(); ++p) {
    if ((*p)->on != on || (*p)->tag != tag || (from >= 0 && (*p)->from != from)) continue;
    auto const alike = [&](posted_message const* other) { return other->matches(**p); };
    if (std::count_if(sent.begin(), p, alike)
        >= std::count_if(unmatched_receives_.begin(), unmatched_receives_.end(), alike))
      return waiting{(*p)->from, (*p)->bytes};  // posted receives will match the earlier messages
  }
  return std::nullopt;
}

void thread_transport::wait_for_event(std::chrono::microseconds longest) {
  std::unique_lock lock(own_state_.mutex);
  own_state_.sleepers.fetch_add(1);
  own_state_.changed.wait_for(lock, longest, [&] { return own_state_.events.load() != slept_events_; });
  own_state_.sleepers.fetch_sub(1);
  slept_events_ = own_state_.events.load();
}

void thread_transport::note(rank_progress here) noexcept {
  std::lock_guard const lock(own_state_.mutex);
  own_state_.where = here;
}

std::vector<rank_status> thread_transport::query_ranks(std::chrono::milliseconds patience) {
  auto const asked = now();
  auto const answered = [&](thread_hub::rank_state const& p) {
    constexpr auto just_before = thread_hub::clock::duration(std::chrono::milliseconds(20)).count();
    return p.last_activity.load(std::memory_order_relaxed) >= asked - just_before;
  };
  std::vector<rank_status> all(hub_->places.size());
  // Read before the query, so that a rank that catches up during the query still counts as late.
  for (std::size_t r = 0; r < all.size(); ++r) {
    std::lock_guard const lock(hub_->places[r].mutex);
    all[r].where = hub_->places[r].where;
    all[r].waits_for = hub_->places[r].waits_for.load();
  }
  for (auto const limit = thread_hub::clock::now() + patience;;) {
    make_progress();
    bool complete = true;
    for (std::size_t r = 0; r < all.size(); ++r) {
      thread_hub::rank_state& p = hub_->places[r];
      std::lock_guard const lock(p.mutex);
      all[r].answers = &p == &own_state_ || answered(p);
      all[r].ended = p.ended;
      complete = complete && (all[r].answers || all[r].ended);
    }
    if (complete || hub_->lost.load() || thread_hub::clock::now() >= limit) return all;
    wait_for_event(std::chrono::milliseconds(1));
  }
}

void thread_transport::abandon() noexcept {
  for (auto const& p : messages_) {
    if (!p->used || !p->sends) continue;
    thread_hub::rank_state& there = hub_->of(p->peer);
    std::unique_lock lock(there.mutex);
    if (std::erase(there.sent, p.get()) > 0) p->is.store(posted_message::ended);
    lock.unlock();
    while (p->is.load(std::memory_order_acquire) == posted_message::posted)
      std::this_thread::yield();  // the receiver is reading the data
  }
}

void thread_transport::leave() noexcept {
  std::lock_guard const lock(own_state_.mutex);
  own_state_.ended = true;
}

thread_hub::clock::rep thread_transport::now() { return thread_hub::clock::now().time_since_epoch().count(); }

void thread_transport::grow_messages() {
  constexpr std::size_t at_first = 64;
  std::size_t const many = std::max(at_first, 2 * messages_.size());
  while (messages_.size() < many) messages_.push_back(std::make_unique<posted_message>());
  unmatched_receives_.reserve(many);
  matched_.reserve(many);
  std::lock_guard const lock(own_state_.mutex);
  own_state_.sent.reserve(many);
}

thread_transport::ticket thread_transport::acquire_message() {
  std::size_t free = 0;
  while (free < messages_.size() && messages_[free]->used) ++free;
  if (free == messages_.size()) grow_messages();
  messages_[free]->used = true;
  messages_[free]->is.store(posted_message::posted, std::memory_order_relaxed);
  return free + 1;
}

thread_transport::ticket thread_transport::post_receive(int from, channel on, std::uint32_t tag,
                                                        elements into, std::optional<reduction> how) {
  ticket const one = acquire_message();
  posted_message& p = *messages_[one - 1];
  p.peer = p.from = from;
  p.on = on;
  p.tag = tag;
  p.into = into;
  p.sends = false;
  p.how = how;
  p.bytes = into.bytes();
  unmatched_receives_.push_back(&p);
  has_new_receives_ = true;
  return one;
}

void thread_transport::match_and_copy() {
  has_new_receives_ = false;
  matched_events_ = own_state_.events.load();
  matched_.clear();
  {
    std::lock_guard const lock(own_state_.mutex);
    std::erase_if(unmatched_receives_, [&](posted_message* receive) {
      auto const found = std::find_if(own_state_.sent.begin(), own_state_.sent.end(),
                                      [&](posted_message* sent) { return sent->matches(*receive); });
      if (found == own_state_.sent.end()) return false;
      matched_.push_back({*found, receive});
      own_state_.sent.erase(found);
      return true;
    });
  }
  for (auto const& [sent, receive] : matched_) {
    thread_hub::rank_state& there = hub_->of(sent->from);
    bool const fits = sent->bytes == receive->bytes;
    if (fits && receive->how)
      combine(isa_, receive->into, sent->source, *receive->how);
    else if (fits && sent->bytes > 0)
      std::memcpy(receive->into.data, sent->source, sent->bytes);
    receive->received_bytes = sent->bytes;
    receive->is.store(fits ? posted_message::ended : posted_message::misfit, std::memory_order_relaxed);
    sent->is.store(posted_message::ended, std::memory_order_release);  // the sender may now reuse `sent`
    hub_->wake(there);
  }
}

}  // namespace cohort::detail
