// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <cohort/communicator/detail/task.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cohort::detail {

/// Moves the operations of one rank, on all its communicators, and sees to it that nobody waits for ever.
///
/// Order     `moving_` is held by whoever calls the transport: callers, in turn, or the engine's own thread where the
///           transport wants one. `state_` guards the rest, and is never held while anything is waited for or summed.
class engine final : public port {
 public:
  engine(std::unique_ptr<transport> through, communicator_settings how);
  engine(engine const&) = delete;
  engine& operator=(engine const&) = delete;

  communicator_settings const settings;

  /// Begins an operation, which `describe` fills in.
  template <class Describe>
  std::shared_ptr<task> start(std::size_t scratch_bytes, Describe describe) {
    if (poisoned()) throw_stall_report();
    std::shared_ptr<task> one;
    {
      std::lock_guard const lock(state_);
      one = unused_task(scratch_bytes);
      describe(*one);
      enqueue(*one);
    }
    threaded_ ? work_.notify_one() : round();
    return one;
  }

  bool done(task& one);

  void await(task& one);

  /// Tells all ranks that nothing will come any more, and why.
  void fail(std::string why) noexcept;

  /// Before    poisoned.     After  nobody touches the callers' memory any more; returns within a second.
  void wait_until_abandoned();

  /// The first context that no communicator of this rank has.
  std::uint32_t next_context();
  /// Takes it, and those before it, unless it was taken in the meantime.
  bool take_context(std::uint32_t one);

  /// Processor time of the engine's own thread.
  double progress_seconds();

  /// Ends what is under way, leaves, and frees the engine; after a failure what others may still touch stays for ever.
  static void close(engine* one) noexcept;

 private:
  using clock = std::chrono::steady_clock;

  /// Where somebody waits, the engine's own thread looks often. After a failure nobody counts.
  void hurry(int more);

  bool poisoned() const { return poisoned_.load(std::memory_order_acquire); }

  /// Until somebody may have thrown it, the reason is what the transport says at last: the same on all ranks.
  void adopt(std::string const& why);

  /// After     nobody touches the callers' memory any more.
  [[noreturn, gnu::cold]] void throw_stall_report();

  /// Takes what was started, and moves everything on once.
  void round();

  void abandon();

  /// Between two looks at an operation: spins for some 20 µs, gives its time slices away up to 200 µs, then sleeps.
  void pause(task& one, clock::duration waited, clock::time_point limit);

  /// Where all ranks are; empty if this rank's own thread does not come back from the transport.
  [[gnu::cold]] std::vector<standing> ask(std::chrono::milliseconds wait);

  /// At a deadline. Returns if the operation has ended at the last moment.
  [[gnu::cold]] void give_up(task& one);

  [[gnu::cold]] std::string who_is_late(task& one);

  [[gnu::cold]] void report(clock::duration waited, std::string const& late);

  [[gnu::cold]] static std::string in_seconds(clock::duration time);

  struct description {
    std::string name;
    std::vector<int> members;
    int peer = -1;  ///< on the transport; −1: no single one is waited for
  };
  /// Under the lock, as all that is read of a task by others than its mover: its memory is used again.
  [[gnu::cold]] description described(task const& one);

  /// A task that has ended and that nobody holds: the one with the least room that suffices, else any, else a new one.
  std::shared_ptr<task> unused_task(std::size_t scratch_bytes);

  void enqueue(task& one);

  std::shared_ptr<task> under_way();

  /// The life of the engine's own thread: polls while something is under way.
  void live() noexcept;

  /// False if the thread does not come back from the transport.
  bool end_thread();

  void keep_for_ever();

  static constexpr std::chrono::milliseconds patience{1000};

  bool threaded_ = false;
  bool crowded_ = false;

  std::mutex moving_;  // guards the transport, and:
  std::vector<task*> active_;
  bool asked_to_abandon_ = false;

  std::mutex state_;  // guards:
  std::condition_variable work_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<task>> tasks_;
  std::vector<task*> arrived_;
  std::uint32_t contexts_ = 1;
  std::string verdict_;
  bool abandoned_ = false;
  bool ending_ = false;
  bool ended_ = false;
  int awaited_ = 0;

  std::atomic<bool> poisoned_{false};
  std::mutex log_;
  std::thread mover_;
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/engine.ipp>
#endif
