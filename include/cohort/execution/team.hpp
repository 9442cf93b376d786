// SPDX-License-Identifier: Apache-2.0
#pragma once
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

/// Shared by the caller and the threads of a team, and kept alive by each of them.
struct team_state {
  using clock = std::chrono::steady_clock;

  struct alignas(64) slot {
    std::atomic<std::uint64_t> finished{0};  // the number of the last run that this worker has ended
    std::atomic<std::uint64_t> arrived{0};   // barriers that it has reached in this run
    std::exception_ptr failure{};            // written before `finished`, read after
    std::thread thread{};
  };

  team_state(int workers, team_settings how);

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
  void wake();

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

  deadline_error late(std::string what, std::string who) const;

  void barrier(int worker);

  /// One worker's share of a run; keeps what it throws.
  void work(int worker, std::uint64_t run) noexcept;

  /// The life of a thread of the team's own. Entering counts as run 1.
  void live(int worker) noexcept;
  static constexpr std::uint64_t gone = ~std::uint64_t{0};

  bool all_finished(std::uint64_t run);

  std::string unfinished(std::uint64_t run);

  /// Rethrows what the lowest worker threw, if any did.
  void rethrow();

  /// Sends the threads home; one that does not come within the deadline is left to itself.
  void end();
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
  explicit team(int workers, team_settings settings = {});
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
  void run_job(void (*job)(void*, int), void* context);

  std::shared_ptr<detail::team_state> state_;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/execution/impl/team.ipp>
#endif
