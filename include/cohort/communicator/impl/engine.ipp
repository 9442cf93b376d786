// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/communicator/detail/engine.hpp>
#include <cohort/communicator/detail/messages.hpp>
#include <cohort/communicator/detail/poll_rhythm.hpp>
#include <cohort/communicator/detail/stall_report.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/team.hpp>
#include <exception>
#include <utility>

namespace cohort::detail {

COHORT_CORE_INLINE engine::engine(std::unique_ptr<transport> through, communicator_settings how)
    : settings(std::move(how)) {
  check_settings(settings);
  wire = std::move(through);
  threaded_ = wire->wants_a_thread();
  crowded_ = static_cast<unsigned>(wire->size()) > std::thread::hardware_concurrency();
  if (threaded_) mover_ = std::thread([this] { live(); });
}

COHORT_CORE_INLINE bool engine::done(task& one) {
  if (one.ended.load(std::memory_order_acquire)) return true;
  if (!threaded_) round();
  if (one.ended.load(std::memory_order_acquire)) return true;
  if (poisoned()) throw_stall_report();
  return false;
}

COHORT_CORE_INLINE void engine::await(task& one) {
  if (done(one)) return;
  hurry(1);
  auto const begin = clock::now();
  std::chrono::milliseconds const slow = std::max(std::chrono::milliseconds(1000), settings.deadline / 10);
  bool slowly = false;
  std::string late;
  while (!done(one)) {
    auto const waited = clock::now() - begin;
    if (waited >= settings.deadline) {
      give_up(one);
    } else if (!slowly && waited >= slow) {
      slowly = true;
      late = who_is_late(one);
    } else {
      pause(one, waited, begin + (slowly ? settings.deadline : std::min(slow, settings.deadline)));
    }
  }
  hurry(-1);
  if (slowly) report(clock::now() - begin, late);
}

COHORT_CORE_INLINE void engine::fail(std::string why) noexcept try {
  wire->announce(why);
  adopt(wire->trouble().value_or(std::move(why)));
} catch (...) {
  poisoned_.store(true);  // no memory for the words
}

COHORT_CORE_INLINE void engine::wait_until_abandoned() {
  if (!threaded_) round();
  std::unique_lock lock(state_);
  changed_.wait_for(lock, patience, [&] { return abandoned_; });  // where a thread does it, if it lives
}

COHORT_CORE_INLINE std::uint32_t engine::next_context() {
  std::lock_guard const lock(state_);
  return contexts_;
}

COHORT_CORE_INLINE bool engine::take_context(std::uint32_t one) {
  std::lock_guard const lock(state_);
  if (one < contexts_) return false;
  contexts_ = one + 1;
  return true;
}

COHORT_CORE_INLINE double engine::progress_seconds() {
  clockid_t its{};
  timespec now{};
  if (!threaded_ || ::pthread_getcpuclockid(mover_.native_handle(), &its) != 0
      || ::clock_gettime(its, &now) != 0)
    return 0;
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

COHORT_CORE_INLINE void engine::close(engine* one) noexcept {
  bool const unwinding = std::uncaught_exceptions() > 0;
  if (unwinding && !one->poisoned())
    one->fail(text_of({"rank ", one->wire->rank(), " was left by an exception"}));
  try {
    while (std::shared_ptr<task> const last = one->under_way()) one->await(*last);
  } catch (...) {  // poisoned now
  }
  if (one->end_thread() && !one->poisoned()) {
    if (!one->threaded_) one->wire->leave();
    delete one;
  } else {
    one->keep_for_ever();
  }
}

COHORT_CORE_INLINE void engine::hurry(int more) {
  if (!threaded_) return;
  std::lock_guard const lock(state_);
  awaited_ += more;
  work_.notify_one();
}

COHORT_CORE_INLINE void engine::adopt(std::string const& why) {
  std::lock_guard const lock(state_);
  if (!abandoned_) verdict_ = why;
  poisoned_.store(true, std::memory_order_release);
  work_.notify_all();
  changed_.notify_all();
}

COHORT_CORE_INLINE void engine::throw_stall_report() {
  wait_until_abandoned();
  std::lock_guard const lock(state_);
  throw communicator_error({.what = verdict_});
}

COHORT_CORE_INLINE void engine::round() {
  std::lock_guard const moving(moving_);
  bool const lost = poisoned();
  try {
    if (!lost || threaded_) wire->move();
    if (auto const why = wire->trouble()) adopt(*why);
    if (lost || (poisoned() && !threaded_)) return abandon();
    if (poisoned()) return;  // the next move takes the reason out
    {
      std::lock_guard const lock(state_);
      active_.reserve(tasks_.capacity());  // nothing is allocated later, whatever is under way at once
      for (task* const one : arrived_) active_.push_back(one);
      arrived_.clear();
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      task* const one = active_[i];
      if (!one->advance(*one)) {
        active_[kept++] = one;
        continue;
      }
      one->ended_at = clock::now();
      one->ended.store(true, std::memory_order_release);  // and may be in use again from here on
    }
    if (kept == active_.size()) return;
    active_.resize(kept);
  } catch (std::exception const& e) {
    fail(text_of({"rank ", wire->rank(), ": ", e.what()}));
    if (lost || !threaded_) abandon();
    return;
  }
  if (threaded_) {
    { std::lock_guard const lock(state_); }
    changed_.notify_all();
  }
}

COHORT_CORE_INLINE void engine::abandon() {
  if (std::exchange(asked_to_abandon_, true)) return;
  wire->abandon();
  std::lock_guard const lock(state_);
  abandoned_ = true;
  changed_.notify_all();
}

COHORT_CORE_INLINE void engine::pause(task& one, clock::duration waited, clock::time_point limit) {
  constexpr auto spinning = std::chrono::microseconds(20);
  constexpr auto yielding = std::chrono::microseconds(200);
  if (threaded_) {
    std::unique_lock lock(state_);
    changed_.wait_until(lock, limit, [&] { return one.ended.load() || poisoned(); });
  } else if (waited < spinning && !crowded_) {
    pause_core();
  } else if (waited < yielding) {
    std::this_thread::yield();
  } else {
    wire->doze(std::chrono::milliseconds(1));
  }
}

[[gnu::cold]] COHORT_CORE_INLINE std::vector<standing> engine::ask(std::chrono::milliseconds wait) {
  std::shared_ptr<task> const question = start(0, [&](task& t) {
    t.advance = ask_everybody;
    t.patience = wait;
  });
  auto const limit = clock::now() + wait + patience;
  while (!done(*question) && clock::now() < limit) pause(*question, wait, limit);
  return question->ended.load() ? std::move(question->standings) : std::vector<standing>();
}

[[gnu::cold]] COHORT_CORE_INLINE void engine::give_up(task& one) {
  auto const [name, members, peer] = described(one);
  std::vector<standing> const all =
      ask(std::clamp(settings.deadline / 2, std::chrono::milliseconds(100), patience));
  if (one.ended.load()) return;
  std::string const who = all.empty()
                              ? text_of({"rank ", wire->rank(), " gets no answer from its own transport"})
                              : sentence_on(all, members, {&peer, peer < 0 ? 0U : 1U});
  fail(text_of({who, " (", name, ", after ", in_seconds(settings.deadline), " s)"}));
  throw_stall_report();
}

[[gnu::cold]] COHORT_CORE_INLINE std::string engine::who_is_late(task& one) {
  auto const [name, members, peer] = described(one);
  std::vector<standing> const all = ask({});
  if (all.empty()) return text_of({"in ", name});
  std::vector<int> const late = peer < 0 ? late_ranks(all, members) : std::vector<int>{peer};
  return late.empty() ? text_of({"in ", name}) : text_of({"for ", names_of_late(all, late), " in ", name});
}

[[gnu::cold]] COHORT_CORE_INLINE void engine::report(clock::duration waited, std::string const& late) {
  std::lock_guard const lock(log_);
  if (settings.log)
    settings.log(text_of({"rank ", wire->rank(), " waited ", in_seconds(waited), " s ", late}));
}

[[gnu::cold]] COHORT_CORE_INLINE std::string engine::in_seconds(clock::duration time) {
  auto const tenths = std::chrono::duration_cast<std::chrono::milliseconds>(time).count() / 100;
  return text_of({tenths / 10, ".", tenths % 10});
}

[[gnu::cold]] COHORT_CORE_INLINE engine::description engine::described(task const& one) {
  std::lock_guard const lock(state_);
  return {std::string(one.name), one.ranks->members,
          one.on == channel::peer && one.peer >= 0 ? one.on_wire(one.peer) : -1};
}

COHORT_CORE_INLINE std::shared_ptr<task> engine::unused_task(std::size_t scratch_bytes) {
  auto const room = [&](task const& t) {
    return t.scratch.capacity() - scratch_bytes;
  };  // wraps if too small
  std::shared_ptr<task> const* best = nullptr;
  for (auto const& one : tasks_)
    if (one.use_count() == 1 && one->ended.load(std::memory_order_acquire)
        && (!best || room(*one) < room(**best)))
      best = &one;
  if (!best) best = &tasks_.emplace_back(std::make_shared<task>(*this, *this));
  (*best)->phase = (*best)->step = 0;
  (*best)->segment = 0;
  (*best)->scratch.resize(scratch_bytes);
  return *best;
}

COHORT_CORE_INLINE void engine::enqueue(task& one) {
  arrived_.reserve(tasks_.capacity());
  arrived_.push_back(&one);
  one.ended.store(false);
}

COHORT_CORE_INLINE std::shared_ptr<task> engine::under_way() {
  std::lock_guard const lock(state_);
  for (auto const& one : tasks_)
    if (!one->ended.load()) return one;
  return nullptr;
}

COHORT_CORE_INLINE void engine::live() noexcept {
  ::prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);  // in ns: else a sleep of 50 µs takes 100
  std::uint64_t last_moves = 0;
  poll_rhythm looks;
  for (bool leaving = false; !leaving;) {
    round();
    std::unique_lock lock(state_);
    bool const hurry = awaited_ > 0;
    looks.looked(std::exchange(last_moves, moves) != moves, hurry);
    if (poisoned() || active_.empty()) {
      looks.idle();
      work_.wait_for(lock, std::chrono::milliseconds(1),
                     [&] { return ending_ || (!arrived_.empty() && !poisoned()); });
    } else if (auto const nap = looks.nap(hurry); nap.count() > 0) {
      work_.wait_for(lock, nap, [&] { return ending_ || !arrived_.empty() || (!hurry && awaited_ > 0); });
    }
    leaving = ending_;
  }
  poisoned() ? round() : wire->leave();  // so that what was said at last goes out
  std::lock_guard const lock(state_);
  ended_ = true;
  changed_.notify_all();
}

COHORT_CORE_INLINE bool engine::end_thread() {
  if (!mover_.joinable()) return true;
  std::unique_lock lock(state_);
  ending_ = true;
  work_.notify_all();
  bool const ended =
      changed_.wait_for(lock, poisoned() ? patience : settings.deadline, [&] { return ended_; });
  lock.unlock();
  ended ? mover_.join() : mover_.detach();  // joining is bounded: the thread has nothing left to do
  return ended;
}

COHORT_CORE_INLINE void engine::keep_for_ever() {
  static std::mutex mutex;
  static auto& kept = *new std::vector<engine*>;
  std::lock_guard const lock(mutex);
  kept.push_back(this);
}

COHORT_CORE_INLINE bool task::done() { return ended.load(std::memory_order_acquire) || home.done(*this); }

COHORT_CORE_INLINE std::chrono::steady_clock::time_point task::wait() {
  if (!ended.load(std::memory_order_acquire)) home.await(*this);
  return ended_at;
}

}  // namespace cohort::detail
