// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/detail/chrono.hpp>
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

/// Deadline and per-thread callbacks of a team.
///
/// Units     `deadline`: limit of each wait, in a barrier or for the other workers at the end of a run; 1 ms
///           to 1,000 hours.
/// Order     workers 1, 2, … call `enter` when their thread starts and `leave` before it ends. Worker 0, the
///           thread that calls run, calls both functions in every run, so `leave` can restore the caller's
///           thread-local settings.
struct team_settings {
  std::chrono::milliseconds deadline{120'000};
  std::function<void(int worker)> enter{};
  std::function<void(int worker)> leave{};
};

namespace detail {

/// Hints to the processor that this is a spin-wait loop.
inline void pause_core() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// State of a team, jointly owned by the team object and its threads.
struct team_state {
  using clock = std::chrono::steady_clock;

  struct alignas(64) slot {
    std::atomic<std::uint64_t> last_finished_run{0};
    std::atomic<std::uint64_t> barriers_reached{0};  // number of barriers in the current run
    std::exception_ptr failure{};                    // written before last_finished_run, read after it
    std::thread thread{};
  };

  team_state(int workers, team_settings options);

  team_settings const settings;
  int const size;
  bool const oversubscribed;  // whether there are more workers than hardware threads
  std::vector<slot> slots;
  void (*job)(void*, int) = nullptr;  // job and context are published by `current_run`
  void* context = nullptr;
  alignas(64) std::atomic<std::uint64_t> current_run{0};
  std::atomic<bool> failed{false};  // whether a worker threw in the current run
  std::atomic<bool> stopping{false};
  std::atomic<bool> running{false};
  alignas(64) std::atomic<int> sleepers{0};
  std::mutex mutex;
  std::condition_variable changed;

  slot& slot_of(int worker) { return slots[static_cast<std::size_t>(worker)]; }

  /// Blocks until ready() holds; returns false if the limit expires first. Spins for about 20 µs, then yields
  /// until 200 µs have passed, then sleeps.
  ///
  /// Before    a thread that makes ready() true first stores its change, then calls wake(); both operations
  ///           are sequentially consistent.
  template <class Ready>
  bool wait(Ready ready, std::chrono::milliseconds limit) {
    constexpr auto spinning = std::chrono::microseconds(20);
    constexpr auto yielding = std::chrono::microseconds(200);
    constexpr int pauses_per_clock_read = 16;
    if (ready()) return true;
    clock::time_point const begin = clock::now();
    for (auto waited = clock::duration::zero(); waited < yielding; waited = clock::now() - begin) {
      if (oversubscribed || waited >= spinning) {
        std::this_thread::yield();
        if (ready()) return true;
      } else {
        for (int i = 0; i < pauses_per_clock_read; ++i) {
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

  /// Wakes sleeping waiters. Call it after every store that a wait may depend on.
  void wake();

  /// Lists the workers for which is_selected(worker) holds: "worker 1" or "workers 1, 3".
  template <class Predicate>
  std::string worker_list(Predicate is_selected) {
    std::string list;
    int count = 0;
    for (int worker = 0; worker < size; ++worker) {
      if (!is_selected(worker)) continue;
      list += (count++ == 0 ? "" : ", ") + std::to_string(worker);
    }
    return (count == 1 ? "worker " : "workers ") + list;
  }

  deadline_error missed_deadline(std::string what, std::string missing_workers) const;

  void barrier(int worker);

  /// Runs the job as `worker` and stores the exception that it throws.
  void run_worker(int worker, std::uint64_t run) noexcept;

  /// Thread function of workers 1, 2, … Calling `enter` counts as run 1.
  void thread_main(int worker) noexcept;
  /// Value of last_finished_run after the thread has ended.
  static constexpr std::uint64_t thread_ended = ~std::uint64_t{0};

  bool all_finished(std::uint64_t run);

  /// Lists the workers that have not finished the run.
  std::string unfinished_workers(std::uint64_t run);

  /// Rethrows the exception of the lowest worker that threw, if any.
  void rethrow_first_failure();

  /// Ends and joins the threads. A thread that does not end within the deadline is detached.
  void shut_down();
};

}  // namespace detail

/// A fork-join thread pool: k workers run the same function over fixed partitions, with barriers inside.
/// Worker 0 is the thread that calls run, so a team of one worker starts and wakes no thread. The other
/// workers are threads that exist as long as the team, so their thread-local state is kept between runs.
///
/// Order     one run at a time. Each wait spins for about 20 µs, then yields, then sleeps.
/// Errors    setting_error for fewer than one worker or a deadline out of range; the exception that `enter`
///           throws. deadline_error with the missing workers if a wait's deadline expires.
class team {
 public:
  explicit team(int workers, team_settings settings = {});
  team(team const&) = delete;
  team& operator=(team const&) = delete;
  ~team() { state_->shut_down(); }

  int size() const { return state_->size; }

  /// Calls f(worker) on each worker's thread and returns when all calls have returned. Allocates nothing.
  ///
  /// Errors    rethrows the exception of the lowest worker that threw. Barriers of the other workers are
  ///           aborted. deadline_error if a worker does not return within the deadline after worker 0 has
  ///           returned. That worker may still execute f, so everything that f uses must outlive the worker.
  ///           Until that worker returns, further runs throw deadline_error. setting_error for nested or
  ///           concurrent runs.
  template <class F>
  void run(F&& f) {
    run_job([](void* context, int worker) { (*static_cast<std::remove_reference_t<F>*>(context))(worker); },
            const_cast<void*>(static_cast<void const*>(std::addressof(f))));
  }

  /// Blocks until all workers have reached this barrier. Call it only inside f.
  ///
  /// Before    `worker` is the argument of f.
  /// After     all workers see the stores that any worker made before the barrier.
  void barrier(int worker) { state_->barrier(worker); }

 private:
  void run_job(void (*job)(void*, int), void* context);

  std::shared_ptr<detail::team_state> state_;
};

}  // namespace cohort
