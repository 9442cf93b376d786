// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cohort/communicator/detail/engine.hpp>
#include <cohort/communicator/detail/poll_rhythm.hpp>
#include <cohort/communicator/detail/stall_report.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/team.hpp>
#include <exception>
#include <utility>

namespace cohort::detail {

engine::engine(std::unique_ptr<transport> through, communicator_settings how) : settings(std::move(how)) {
  check_settings(settings);
  wire = std::move(through);
  threaded_ = wire->needs_progress_thread();
  oversubscribed_ = static_cast<unsigned>(wire->size()) > std::thread::hardware_concurrency();
  if (threaded_) progress_thread_ = std::thread([this] { run_progress_thread(); });
}

std::shared_ptr<task> engine::start(operation_call call, operation value) {
  if (poisoned()) throw_failure();
  std::size_t const scratch = std::visit(
      [&](auto const& kind) -> std::size_t {
        if constexpr (requires { kind.scratch_bytes(*this, 0); })
          return kind.scratch_bytes(*this, static_cast<int>(call.ranks->members.size()));
        return 0;
      },
      value);
  std::shared_ptr<task> started;
  {
    std::lock_guard const lock(state_mutex_);
    started = acquire_task(scratch);
    started->messages.call = std::move(call);
    started->running = std::move(value);
    enqueue(*started);
  }
  threaded_ ? wake_progress_thread() : make_progress();
  return started;
}

bool engine::done(task& one) {
  if (one.ended.load(std::memory_order_acquire)) return true;
  if (!threaded_) make_progress();
  if (one.ended.load(std::memory_order_acquire)) return true;
  if (poisoned()) throw_failure();
  return false;
}

void engine::await(task& one) {
  if (done(one)) return;
  begin_wait(one);
  auto const begin = wire->time().now();
  std::chrono::milliseconds const slow = std::max(std::chrono::milliseconds(1000), settings.deadline / 10);
  bool slowly = false;
  std::string late;
  ended_peers_check check{.next = begin + between_checks};
  while (!done(one)) {
    auto const waited = wire->time().now() - begin;
    if (waited >= settings.deadline) {
      fail_wait(one, settings.deadline);
    } else if (begin + waited >= check.next) {
      if (waits_in_vain(one, check)) fail_wait(one, waited);
    } else if (!slowly && waited >= slow) {
      slowly = true;
      late = describe_late(one);
    } else {
      pause(one, waited, std::min(check.next, begin + (slowly ? settings.deadline : slow)));
    }
  }
  end_wait();
  if (slowly) report(wire->time().now() - begin, late);
}

void engine::fail(failure_report why) noexcept try {
  wire->announce(why);
  set_failure(wire->trouble().value_or(std::move(why)));
} catch (...) {
  poisoned_.store(true);  // there is no memory for the text
}

void engine::wait_until_abandoned() {
  if (!threaded_) make_progress();
  std::unique_lock lock(state_mutex_);
  changed_.wait_for(lock, patience,
                    [&] { return abandoned_; });  // set by the progress thread, unless it hangs
}

failure_report engine::failure() {
  std::lock_guard const lock(state_mutex_);
  return failure_;
}

std::uint32_t engine::next_context() {
  std::lock_guard const lock(state_mutex_);
  return next_context_;
}

bool engine::reserve_context(std::uint32_t one) {
  std::lock_guard const lock(state_mutex_);
  if (one < next_context_) return false;
  next_context_ = one + 1;
  return true;
}

double engine::progress_seconds() {
  clockid_t its{};
  timespec now{};
  if (!threaded_ || ::pthread_getcpuclockid(progress_thread_.native_handle(), &its) != 0
      || ::clock_gettime(its, &now) != 0)
    return 0;
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void engine::close(engine* one) noexcept {
  bool const unwinding = std::uncaught_exceptions() > 0;
  if (unwinding && !one->poisoned())
    one->fail(
        {text_of({"rank ", one->wire->rank(), " failed: its communicator was destroyed by an exception"}),
         own_error_status});
  try {
    while (std::shared_ptr<task> const last = one->pending_task()) one->await(*last);
  } catch (...) {  // poisoned now
  }
  bool const ended = one->end_thread();
  if (ended && !one->poisoned()) {
    if (!one->threaded_) one->wire->leave();
    delete one;
    return;
  }
  if (ended && one->threaded_) one->wire->close();
  one->leak();
}

void engine::begin_wait(task const& one) {
  std::lock_guard const lock(state_mutex_);
  ++waiters_;
  wire->note_wait(one.messages.call.awaited);
  if (threaded_) wake_progress_thread();
}

void engine::end_wait() noexcept {
  std::lock_guard const lock(state_mutex_);
  if (--waiters_ == 0) wire->note_wait(rank_status::nobody);
}

void engine::set_failure(failure_report const& why) {
  std::lock_guard const lock(state_mutex_);
  if (!abandoned_) failure_ = why;
  poisoned_.store(true, std::memory_order_release);
  work_.notify_all();
  wire->wake();
  changed_.notify_all();
}

void engine::throw_failure() {
  wait_until_abandoned();
  failure_report const why = failure();
  throw communicator_error({.what = why.text}, why.exit_status);
}

void engine::make_progress() {
  std::lock_guard const moving(transport_mutex_);
  bool const lost = poisoned();
  try {
    if (!lost || threaded_) wire->make_progress();
    if (auto const why = wire->trouble()) set_failure(*why);
    if (lost || (poisoned() && !threaded_)) return abandon();
    if (poisoned()) return;  // the next call sends the reason and abandons the transport
    {
      std::lock_guard const lock(state_mutex_);
      active_.reserve(tasks_.capacity());  // avoids allocations later
      for (task* const one : new_tasks_) active_.push_back(one);
      new_tasks_.clear();
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      task* const one = active_[i];
      if (!one->advance()) {
        active_[kept++] = one;
        continue;
      }
      one->ended_at = wire->time().now();
      one->ended.store(true, std::memory_order_release);  // now the task may be reused
    }
    if (kept == active_.size()) return;
    active_.resize(kept);
  } catch (...) {
    failure_report const why = failure_of(std::current_exception());
    fail({text_of({"rank ", wire->rank(), ": ", why.text}), why.exit_status});
    if (lost || !threaded_) abandon();
    return;
  }
  if (threaded_) {
    { std::lock_guard const lock(state_mutex_); }
    changed_.notify_all();
  }
}

void engine::abandon() {
  if (std::exchange(asked_to_abandon_, true)) return;
  wire->abandon();
  std::lock_guard const lock(state_mutex_);
  abandoned_ = true;
  changed_.notify_all();
}

void engine::pause(task& one, clock::duration waited, clock::time_point limit) {
  constexpr auto spinning = std::chrono::microseconds(20);
  constexpr auto yielding = std::chrono::microseconds(200);
  if (threaded_) {
    std::unique_lock lock(state_mutex_);
    changed_.wait_until(lock, limit, [&] { return one.ended.load() || poisoned(); });
  } else if (wire->time().is_virtual()) {
    wire->wait_for_event(std::chrono::milliseconds(1));
  } else if (waited < spinning && !oversubscribed_) {
    pause_core();
  } else if (waited < yielding) {
    std::this_thread::yield();
  } else {
    wire->wait_for_event(std::chrono::milliseconds(1));
  }
}

[[gnu::cold]] rank_query engine::query_ranks(std::chrono::milliseconds wait) {
  std::shared_ptr<task> const question = start({.name = "query"}, rank_query{wait});
  auto const limit = wire->time().now() + wait + patience;
  while (!done(*question) && wire->time().now() < limit) pause(*question, wait, limit);
  return question->ended.load() ? std::move(std::get<rank_query>(question->running)) : rank_query();
}

[[gnu::cold]] bool engine::waits_in_vain(task const& awaiting, ended_peers_check& check) {
  check.next = wire->time().now() + between_checks;
  std::vector<int> const awaited = describe(awaiting).awaited;
  rank_query const known = query_ranks({});
  bool const have_ended = !known.answers.empty() && std::ranges::any_of(awaited, [&](int rank) {
    return rank != wire->rank();
  }) && std::ranges::all_of(awaited, [&](int rank) {
    return rank == wire->rank() || known.answers[static_cast<std::size_t>(rank)].ended;
  });
  bool const had_ended = std::exchange(check.have_ended, have_ended);
  std::uint64_t const received = std::exchange(check.received_bytes, known.received_bytes);
  return have_ended && had_ended && received == known.received_bytes;
}

[[gnu::cold]] void engine::fail_wait(task& one, clock::duration waited) {
  auto const [name, members, awaited] = describe(one);
  std::vector<rank_status> const all =
      query_ranks(std::clamp(settings.deadline / 2, std::chrono::milliseconds(100), patience)).answers;
  if (one.ended.load()) return;
  std::string const who = all.empty() ? text_of({"the transport of rank ", wire->rank(), " does not respond"})
                                      : describe_stall(all, members, awaited);
  fail({text_of({who, " (", name, ", after ", in_seconds(waited), " s)"})});
  throw_failure();
}

[[gnu::cold]] std::string engine::describe_late(task& one) {
  auto const [name, members, awaited] = describe(one);
  std::vector<rank_status> const all = query_ranks({}).answers;
  if (all.empty()) return text_of({"in ", name});
  std::vector<int> late = late_ranks(all, awaited);
  std::erase(late, wire->rank());  // this rank is the waiting rank
  return late.empty() ? text_of({"in ", name})
                      : text_of({"for ", describe_late_ranks(all, late), " in ", name});
}

[[gnu::cold]] void engine::report(clock::duration waited, std::string const& late) {
  std::lock_guard const lock(log_mutex_);
  if (settings.log)
    settings.log(text_of({"rank ", wire->rank(), " waited ", in_seconds(waited), " s ", late}));
}

[[gnu::cold]] std::string engine::in_seconds(clock::duration time) {
  auto const tenths = std::chrono::duration_cast<std::chrono::milliseconds>(time).count() / 100;
  return text_of({tenths / 10, ".", tenths % 10});
}

[[gnu::cold]] engine::description engine::describe(task const& one) {
  std::lock_guard const lock(state_mutex_);
  operation_call const& call = one.messages.call;
  std::vector<int> const members = call.ranks ? call.ranks->members : std::vector<int>();
  return {std::string(call.name), members, call.awaited < 0 ? members : std::vector{call.awaited}};
}

std::shared_ptr<task> engine::acquire_task(std::size_t scratch_bytes) {
  auto const room = [&](task const& t) {
    return t.messages.scratch.capacity() - scratch_bytes;
  };  // wraps to a very large number if the capacity is too small
  std::shared_ptr<task> const* best = nullptr;
  for (auto const& one : tasks_)
    if (one.use_count() == 1 && one->ended.load(std::memory_order_acquire)
        && (!best || room(*one) < room(**best)))
      best = &one;
  if (!best) best = &tasks_.emplace_back(std::make_shared<task>(*this, *this));
  (*best)->messages.scratch.resize(scratch_bytes);
  return *best;
}

void engine::enqueue(task& one) {
  new_tasks_.reserve(tasks_.capacity());
  new_tasks_.push_back(&one);
  one.ended.store(false);
}

std::shared_ptr<task> engine::pending_task() {
  std::lock_guard const lock(state_mutex_);
  for (auto const& one : tasks_)
    if (!one->ended.load()) return one;
  return nullptr;
}

void engine::run_progress_thread() noexcept {
  ::prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);  // in ns; otherwise a sleep of 50 µs takes 100 µs
  std::uint64_t last_moves = 0;
  poll_rhythm polls;
  constexpr auto longest_sleep = std::chrono::milliseconds(1);
  // A thread that waits for an operation yields its processor to this thread, and a message may arrive soon.
  // Polling therefore costs less than letting the sender wake this thread.
  constexpr auto polling = std::chrono::microseconds(100);
  auto last_move = wire->time().now();
  for (bool leaving = false; !leaving;) {
    make_progress();
    std::unique_lock lock(state_mutex_);
    bool const is_awaited = waiters_ > 0;
    std::uint64_t const now_moved = moves + wire->moves();
    bool const moved = std::exchange(last_moves, now_moved) != now_moved;
    polls.after_poll(moved, is_awaited);
    if (wire->can_wake() && moved) last_move = wire->time().now();
    bool const is_idle = poisoned() || active_.empty();
    if (is_idle) polls.idle();
    auto const nap = is_idle ? longest_sleep : polls.nap(is_awaited);
    auto const has_work = [&] {
      return ending_ || (!new_tasks_.empty() && !poisoned()) || (!is_idle && !is_awaited && waiters_ > 0);
    };
    leaving = ending_;
    if (nap.count() == 0 || has_work()) continue;
    if (wire->can_wake()) {
      lock.unlock();
      if (is_awaited && !is_idle && !oversubscribed_ && wire->time().now() - last_move < polling) {
        std::this_thread::yield();  // the sender may wait for this processor
        continue;
      }
      wire->wait_for_event(longest_sleep);
    } else {
      work_.wait_for(lock, nap, has_work);
      leaving = ending_;
    }
  }
  poisoned() ? make_progress() : wire->leave();  // make_progress sends the last announcement
  std::lock_guard const lock(state_mutex_);
  ended_ = true;
  changed_.notify_all();
}

bool engine::end_thread() {
  if (!progress_thread_.joinable()) return true;
  std::unique_lock lock(state_mutex_);
  ending_ = true;
  work_.notify_all();
  wire->wake();
  bool const ended =
      changed_.wait_for(lock, poisoned() ? patience : settings.deadline, [&] { return ended_; });
  lock.unlock();
  if (ended)
    progress_thread_.join();  // bounded: the thread has finished its work
  else
    progress_thread_.detach();
  return ended;
}

void engine::leak() {
  static std::mutex mutex;
  static auto& kept = *new std::vector<engine*>;
  std::lock_guard const lock(mutex);
  kept.push_back(this);
}

bool task::done() { return ended.load(std::memory_order_acquire) || home.done(*this); }

std::chrono::steady_clock::time_point task::wait() {
  if (!ended.load(std::memory_order_acquire)) home.await(*this);
  return ended_at;
}

}  // namespace cohort::detail
