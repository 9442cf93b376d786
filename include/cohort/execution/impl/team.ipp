// SPDX-License-Identifier: Apache-2.0
#include <cohort/execution/team.hpp>
#include <utility>

namespace cohort::detail {

/// Thrown by a barrier if another worker has failed. Unwinds the job; team_state::run_worker catches it.
struct barrier_aborted {};

team_state::team_state(int workers, team_settings options)
    : settings(std::move(options)),
      size(workers),
      oversubscribed(static_cast<unsigned>(workers) > std::thread::hardware_concurrency()),
      slots(static_cast<std::size_t>(workers)) {}

void team_state::wake() {
  if (sleepers.load() == 0) return;
  { std::lock_guard const lock(mutex); }
  changed.notify_all();
}

deadline_error team_state::missed_deadline(std::string what, std::string missing_workers) const {
  return deadline_error({.what = std::move(what),
                         .where = {"team of ", size, " workers"},
                         .expected = {"all workers within ", settings.deadline.count(), " ms"},
                         .got = {"no response from ", std::move(missing_workers)}});
}

void team_state::barrier(int worker) {
  slot& mine = slot_of(worker);
  std::uint64_t const phase = mine.barriers_reached.load(std::memory_order_relaxed) + 1;
  mine.barriers_reached.store(phase);
  wake();
  for (int other = 0; other < size; ++other) {
    slot const& theirs = slot_of(other);
    bool const in_time =
        wait([&] { return theirs.barriers_reached.load() >= phase || failed.load(); }, settings.deadline);
    if (failed.load()) throw barrier_aborted{};
    if (!in_time)
      throw missed_deadline("not all workers reached a barrier in time",
                            worker_list([&](int w) { return slot_of(w).barriers_reached.load() < phase; }));
  }
}

void team_state::run_worker(int worker, std::uint64_t run) noexcept {
  slot& mine = slot_of(worker);
  try {
    job(context, worker);
  } catch (barrier_aborted const&) {
  } catch (...) {
    mine.failure = std::current_exception();
    failed.store(true);
  }
  mine.last_finished_run.store(run);
  wake();
}

void team_state::thread_main(int worker) noexcept {
  std::uint64_t run = 1;
  slot& mine = slot_of(worker);
  try {
    if (settings.enter) settings.enter(worker);
  } catch (...) {
    mine.failure = std::current_exception();
  }
  mine.last_finished_run.store(run);
  wake();
  for (;;) {
    // An idle worker waits as long as the team exists. The deadline only sets the interval between its
    // checks.
    while (!wait([&] { return current_run.load() != run || stopping.load(); }, settings.deadline)) {
    }
    if (stopping.load()) break;
    run = current_run.load();
    run_worker(worker, run);
  }
  try {
    if (settings.leave) settings.leave(worker);
  } catch (...) {  // no caller can receive the exception
  }
  mine.last_finished_run.store(thread_ended);
  wake();
}

bool team_state::all_finished(std::uint64_t run) {
  for (int worker = 1; worker < size; ++worker)
    if (slot_of(worker).last_finished_run.load() < run) return false;
  return true;
}

std::string team_state::unfinished_workers(std::uint64_t run) {
  return worker_list(
      [&](int worker) { return worker > 0 && slot_of(worker).last_finished_run.load() < run; });
}

void team_state::rethrow_first_failure() {
  std::exception_ptr first;
  for (slot& each : slots) {
    if (!first) first = each.failure;
    each.failure = nullptr;
  }
  if (first) std::rethrow_exception(first);
}

void team_state::shut_down() {
  stopping.store(true);
  wake();
  for (int worker = 1; worker < size; ++worker) {
    slot& each = slot_of(worker);
    if (!each.thread.joinable()) continue;
    if (wait([&] { return each.last_finished_run.load() == thread_ended; }, settings.deadline))
      each.thread.join();  // bounded: the thread function is about to return
    else
      each.thread.detach();
  }
}

}  // namespace cohort::detail

namespace cohort {

team::team(int workers, team_settings settings) {
  if (workers < 1)
    throw setting_error({.what = "the number of workers is not positive",
                         .where = "team",
                         .expected = "at least 1",
                         .got = {workers}});
  if (settings.deadline < std::chrono::milliseconds(1) || settings.deadline > std::chrono::hours(1000))
    throw setting_error({.what = "the team's deadline is out of range",
                         .where = "team_settings.deadline",
                         .expected = "1 ms to 1,000 hours",
                         .got = {settings.deadline.count(), " ms"}});
  state_ = std::make_shared<detail::team_state>(workers, std::move(settings));
  state_->current_run.store(1);
  try {
    for (int worker = 1; worker < workers; ++worker)
      state_->slot_of(worker).thread = std::thread([state = state_, worker] { state->thread_main(worker); });
    if (!state_->wait([&] { return state_->all_finished(1); }, state_->settings.deadline))
      throw state_->missed_deadline("a team did not start in time", state_->unfinished_workers(1));
    state_->rethrow_first_failure();
  } catch (...) {
    state_->shut_down();
    throw;
  }
}

void team::run_job(void (*job)(void*, int), void* context) {
  detail::team_state& s = *state_;
  if (s.running.exchange(true))
    throw setting_error({.what = "the team is already running",
                         .where = "team::run",
                         .expected = "one run at a time",
                         .got = "a nested or concurrent run"});
  struct guard {
    std::atomic<bool>& flag;
    ~guard() { flag.store(false); }
  } const reset_at_end{s.running};
  std::uint64_t const last = s.current_run.load();
  if (!s.all_finished(last))
    throw s.missed_deadline("the team cannot run again before its last run has ended",
                            s.unfinished_workers(last));
  for (auto& slot : s.slots) {
    slot.barriers_reached.store(0, std::memory_order_relaxed);
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
  } const leave_at_end{s};
  s.current_run.store(last + 1);
  s.wake();
  s.run_worker(0, last + 1);
  if (!s.wait([&] { return s.all_finished(last + 1); }, s.settings.deadline))
    throw s.missed_deadline("a worker did not finish in time", s.unfinished_workers(last + 1));
  s.rethrow_first_failure();
}

}  // namespace cohort
