// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/detail/config.hpp>
#include <cohort/execution/team.hpp>
#include <utility>

namespace cohort::detail {

/// What a worker's barrier throws when another worker has failed: unwinds its job, never seen outside.
struct released_from_barrier {};

COHORT_CORE_INLINE team_state::team_state(int workers, team_settings how)
    : settings(std::move(how)),
      size(workers),
      crowded(static_cast<unsigned>(workers) > std::thread::hardware_concurrency()),
      slots(static_cast<std::size_t>(workers)) {}

COHORT_CORE_INLINE void team_state::wake() {
  if (sleepers.load() == 0) return;
  { std::lock_guard const lock(mutex); }
  changed.notify_all();
}

COHORT_CORE_INLINE deadline_error team_state::late(std::string what, std::string who) const {
  return deadline_error({.what = std::move(what),
                         .where = {"a team of ", size},
                         .expected = {"all within ", settings.deadline.count(), " ms"},
                         .got = {"no sign of ", std::move(who)}});
}

COHORT_CORE_INLINE void team_state::barrier(int worker) {
  slot& mine = of(worker);
  std::uint64_t const phase = mine.arrived.load(std::memory_order_relaxed) + 1;
  mine.arrived.store(phase);
  wake();
  for (int other = 0; other < size; ++other) {
    slot const& theirs = of(other);
    bool const in_time =
        wait([&] { return theirs.arrived.load() >= phase || failed.load(); }, settings.deadline);
    if (failed.load()) throw released_from_barrier{};
    if (!in_time)
      throw late("a barrier was not reached in time",
                 names_of([&](int w) { return of(w).arrived.load() < phase; }));
  }
}

COHORT_CORE_INLINE void team_state::work(int worker, std::uint64_t run) noexcept {
  slot& mine = of(worker);
  try {
    job(context, worker);
  } catch (released_from_barrier const&) {
  } catch (...) {
    mine.failure = std::current_exception();
    failed.store(true);
  }
  mine.finished.store(run);
  wake();
}

COHORT_CORE_INLINE void team_state::live(int worker) noexcept {
  std::uint64_t run = 1;
  slot& mine = of(worker);
  try {
    if (settings.enter) settings.enter(worker);
  } catch (...) {
    mine.failure = std::current_exception();
  }
  mine.finished.store(run);
  wake();
  for (;;) {
    // An idle worker waits as long as the team lives; the deadline is only how often it looks again.
    while (!wait([&] { return started.load() != run || ending.load(); }, settings.deadline)) {
    }
    if (ending.load()) break;
    run = started.load();
    work(worker, run);
  }
  try {
    if (settings.leave) settings.leave(worker);
  } catch (...) {  // nobody is left to be told
  }
  mine.finished.store(gone);
  wake();
}

COHORT_CORE_INLINE bool team_state::all_finished(std::uint64_t run) {
  for (int worker = 1; worker < size; ++worker)
    if (of(worker).finished.load() < run) return false;
  return true;
}

COHORT_CORE_INLINE std::string team_state::unfinished(std::uint64_t run) {
  return names_of([&](int worker) { return worker > 0 && of(worker).finished.load() < run; });
}

COHORT_CORE_INLINE void team_state::rethrow() {
  std::exception_ptr first;
  for (slot& each : slots) {
    if (!first) first = each.failure;
    each.failure = nullptr;
  }
  if (first) std::rethrow_exception(first);
}

COHORT_CORE_INLINE void team_state::end() {
  ending.store(true);
  wake();
  for (int worker = 1; worker < size; ++worker) {
    slot& each = of(worker);
    if (!each.thread.joinable()) continue;
    if (wait([&] { return each.finished.load() == gone; }, settings.deadline))
      each.thread.join();  // bounded: the thread has nothing left to do
    else
      each.thread.detach();
  }
}

}  // namespace cohort::detail

namespace cohort {

COHORT_CORE_INLINE team::team(int workers, team_settings settings) {
  if (workers < 1)
    throw setting_error({.what = "a team needs workers", .expected = "at least 1", .got = {workers}});
  if (settings.deadline < std::chrono::milliseconds(1) || settings.deadline > std::chrono::hours(1000))
    throw setting_error({.what = "a team cannot wait like this",
                         .where = "team_settings.deadline",
                         .expected = "1 ms to 1,000 hours",
                         .got = {settings.deadline.count(), " ms"}});
  state_ = std::make_shared<detail::team_state>(workers, std::move(settings));
  state_->started.store(1);
  try {
    for (int worker = 1; worker < workers; ++worker)
      state_->of(worker).thread = std::thread([state = state_, worker] { state->live(worker); });
    if (!state_->wait([&] { return state_->all_finished(1); }, state_->settings.deadline))
      throw state_->late("a team did not start in time", state_->unfinished(1));
    state_->rethrow();
  } catch (...) {
    state_->end();
    throw;
  }
}

COHORT_CORE_INLINE void team::run_job(void (*job)(void*, int), void* context) {
  detail::team_state& s = *state_;
  if (s.running.exchange(true))
    throw setting_error(
        {.what = "a team runs one job at a time", .where = "team::run", .got = "a second one"});
  struct guard {
    std::atomic<bool>& flag;
    ~guard() { flag.store(false); }
  } const done{s.running};
  std::uint64_t const last = s.started.load();
  if (!s.all_finished(last)) throw s.late("a team cannot run again", s.unfinished(last));
  for (auto& slot : s.slots) {
    slot.arrived.store(0, std::memory_order_relaxed);
    slot.failure = nullptr;
  }
  s.failed.store(false);
  s.job = job;
  s.context = context;
  if (s.settings.enter) s.settings.enter(0);
  struct leaver {
    detail::team_state& s;
    ~leaver() {
      if (s.settings.leave) s.settings.leave(0);
    }
  } const left{s};
  s.started.store(last + 1);
  s.wake();
  s.work(0, last + 1);
  if (!s.wait([&] { return s.all_finished(last + 1); }, s.settings.deadline))
    throw s.late("a worker did not finish in time", s.unfinished(last + 1));
  s.rethrow();
}

}  // namespace cohort
