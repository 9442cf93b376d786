// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cohort/error/exceptions.hpp>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace cohort {

/// How a team waits, and what each of its threads does around its work.
///
/// Units     deadline: of each single wait, in a barrier or for the others at the end of a run; 1 ms to 1,000 hours.
/// Order     a thread of the team's own enters once, when it starts, and leaves when it ends. Worker 0, which is
///           whichever thread calls run, enters and leaves in each run: a thread-local setting of the caller's
///           can be restored.
struct team_settings {
  std::chrono::milliseconds deadline{120'000};
  std::function<void(int worker)> enter{};
  std::function<void(int worker)> leave{};
};

namespace detail {

inline void pause_core() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// What a worker's barrier throws when another worker has failed: unwinds its job, never seen outside.
struct released_from_barrier {};

/// Shared by the caller and the threads of a team, and kept alive by each of them.
struct team_state {
  using clock = std::chrono::steady_clock;

  struct alignas(64) slot {
    std::atomic<std::uint64_t> finished{0};  // the number of the last run that this worker has ended
    std::atomic<std::uint64_t> arrived{0};   // barriers that it has reached in this run
    std::exception_ptr failure{};            // written before `finished`, read after
    std::thread thread{};
  };

  team_state(int workers, team_settings how)
      : settings(std::move(how)),
        size(workers),
        crowded(static_cast<unsigned>(workers) > std::thread::hardware_concurrency()),
        slots(static_cast<std::size_t>(workers)) {}

  team_settings const settings;
  int const size;
  bool const crowded;
  std::vector<slot> slots;
  void (*job)(void*, int) = nullptr;  // job and context are published by `started`
  void* context = nullptr;
  alignas(64) std::atomic<std::uint64_t> started{0};  // the number of the current run
  std::atomic<bool> failed{false};                    // a worker of this run threw
  std::atomic<bool> ending{false};
  std::atomic<bool> running{false};
  alignas(64) std::atomic<int> sleepers{0};
  std::mutex mutex;
  std::condition_variable changed;

  slot& of(int worker) { return slots[static_cast<std::size_t>(worker)]; }

  /// Waits until ready() holds: spins for some 20 µs, gives its time slices away up to 200 µs, then sleeps.
  /// Returns false at the deadline.
  ///
  /// Before    what ready() reads is stored before wake(), both sequentially consistent.
  template <class Ready>
  bool wait(Ready ready, std::chrono::milliseconds limit) {
    constexpr auto spinning = std::chrono::microseconds(20);
    constexpr auto yielding = std::chrono::microseconds(200);
    constexpr int pauses_per_look_at_the_clock = 16;
    if (ready()) return true;
    clock::time_point const begin = clock::now();
    for (auto waited = clock::duration::zero(); waited < yielding; waited = clock::now() - begin) {
      if (crowded || waited >= spinning) {
        std::this_thread::yield();
        if (ready()) return true;
      } else {
        for (int i = 0; i < pauses_per_look_at_the_clock; ++i) {
          if (ready()) return true;
          pause_core();
        }
      }
    }
    std::unique_lock lock(mutex);
    sleepers.fetch_add(1);
    bool const in_time = changed.wait_until(lock, begin + limit, ready);
    sleepers.fetch_sub(1);
    return in_time;
  }

  /// After a store that somebody may wait for.
  void wake() {
    if (sleepers.load() == 0) return;
    { std::lock_guard const lock(mutex); }
    changed.notify_all();
  }

  /// "worker 1" or "workers 1, 3": those for which late(worker) holds.
  template <class Late>
  std::string names_of(Late late) {
    std::string list;
    int count = 0;
    for (int worker = 0; worker < size; ++worker) {
      if (!late(worker)) continue;
      list += (count++ == 0 ? "" : ", ") + std::to_string(worker);
    }
    return (count == 1 ? "worker " : "workers ") + list;
  }

  deadline_error late(std::string what, std::string who) const {
    return deadline_error({.what = std::move(what),
                           .where = {"a team of ", size},
                           .expected = {"all within ", settings.deadline.count(), " ms"},
                           .got = {"no sign of ", std::move(who)}});
  }

  void barrier(int worker) {
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

  /// One worker's share of a run; keeps what it throws.
  void work(int worker, std::uint64_t run) noexcept {
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

  /// The life of a thread of the team's own. Entering counts as run 1.
  void live(int worker) noexcept {
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
  static constexpr std::uint64_t gone = ~std::uint64_t{0};

  bool all_finished(std::uint64_t run) {
    for (int worker = 1; worker < size; ++worker)
      if (of(worker).finished.load() < run) return false;
    return true;
  }

  std::string unfinished(std::uint64_t run) {
    return names_of([&](int worker) { return worker > 0 && of(worker).finished.load() < run; });
  }

  /// Rethrows what the lowest worker threw, if any did.
  void rethrow() {
    std::exception_ptr first;
    for (slot& each : slots) {
      if (!first) first = each.failure;
      each.failure = nullptr;
    }
    if (first) std::rethrow_exception(first);
  }

  /// Sends the threads home; one that does not come within the deadline is left to itself.
  void end() {
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
};

}  // namespace detail

/// k workers that run the same function together: fork-join over fixed partitions, with barriers inside.
/// Worker 0 is the thread that calls run (so a team of one costs nothing, and nobody is woken in vain); the
/// others are threads that live as long as the team, so what is thread-local stays with a worker's number.
///
/// Order     one run at a time. Each wait spins for some 20 µs, then yields, then sleeps.
/// Errors    setting_error for fewer than one worker or a deadline out of range; what `enter` throws.
///           deadline_error naming the workers that are missing at a wait's deadline.
class team {
 public:
  explicit team(int workers, team_settings settings = {}) {
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
  team(team const&) = delete;
  team& operator=(team const&) = delete;
  ~team() { state_->end(); }

  int size() const { return state_->size; }

  /// Calls f(worker) for each worker on its own thread and returns when all have returned. Allocates nothing.
  ///
  /// Errors    rethrows the exception of the lowest worker that threw one; the others are released from barriers.
  ///           deadline_error if a worker does not return within the deadline after worker 0 has: it may
  ///           still be inside f, so what f uses must outlive it, and runs are refused until it is back.
  ///           setting_error for a run inside a run, or two at once.
  template <class F>
  void run(F&& f) {
    run_job([](void* context, int worker) { (*static_cast<std::remove_reference_t<F>*>(context))(worker); },
            const_cast<void*>(static_cast<void const*>(std::addressof(f))));
  }

  /// Inside f alone: returns when every worker has called it as often as this one.
  ///
  /// Before    `worker` is the number that f was given.
  /// After     stores made before it by any worker are seen by all.
  void barrier(int worker) { state_->barrier(worker); }

 private:
  void run_job(void (*job)(void*, int), void* context) {
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

  std::shared_ptr<detail::team_state> state_;
};

}  // namespace cohort
