// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/communicator/detail/task.hpp>
#include <cohort/detail/chrono.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cohort::detail {

/// Advances the operations of one rank on all its communicators, and enforces the deadline of every wait.
///
/// Order     a caller of the transport holds `transport_mutex_`. Callers are the threads that use the
///           communicator, or only the progress thread if the transport needs one. `state_mutex_` guards the
///           other state and is never held during a wait or a sum.
class engine final : public port {
 public:
  engine(std::unique_ptr<transport> through, communicator_settings how);
  engine(engine const&) = delete;
  engine& operator=(engine const&) = delete;

  communicator_settings const settings;

  /// Starts an operation.
  std::shared_ptr<task> start(operation_call call, operation value);

  /// Returns whether a task has ended.
  bool done(task& one);

  /// Blocks until a task has ended, at most until the deadline.
  void await(task& one);

  /// Announces a failure of this rank to all ranks.
  void fail(failure_report why) noexcept;

  /// Blocks until the transport is abandoned, at most for a second.
  ///
  /// Before    the engine is poisoned.
  /// After     the callers' memory is no longer accessed.
  void wait_until_abandoned();

  /// The first failure of a rank.
  ///
  /// Before    the engine is poisoned.
  failure_report failure();

  /// The first context that no communicator of this rank uses.
  std::uint32_t next_context();
  /// Reserves this context and all lower contexts. Returns false if this context was already reserved.
  bool reserve_context(std::uint32_t one);

  /// Returns the processor time of the progress thread, 0 without one.
  double progress_seconds();

  /// Waits for pending operations, leaves the transport, and deletes the engine. After a failure, memory that
  /// others may still access is leaked; connections and ports are closed.
  static void close(engine* one) noexcept;

 private:
  using clock = std::chrono::steady_clock;

  /// Count the waiting threads. The progress thread polls often while a thread waits.
  void begin_wait(task const& one);
  void end_wait() noexcept;

  void wake_progress_thread() noexcept {
    work_.notify_one();
    wire->wake();
  }

  bool poisoned() const { return poisoned_.load(std::memory_order_acquire); }

  /// Poisons the engine. The reason may still change until the transport is abandoned, so that all ranks
  /// report the transport's last reason.
  void set_failure(failure_report const& why);

  /// Throws the error of a poisoned engine.  After: the callers' memory is no longer accessed.
  [[noreturn, gnu::cold]] void throw_failure();

  /// Adds the newly started tasks, and advances all active tasks once.
  void make_progress();

  /// Abandons the transport, once.
  void abandon();

  /// Pauses between two polls of an operation: spins for 20 µs, yields until 200 µs, then sleeps. With a
  /// progress thread, blocks until the operation has ended, the engine is poisoned, or `limit` has passed.
  void pause(task& one, clock::duration waited, clock::time_point limit);

  /// Queries the status of all ranks. The list of answers is empty if the progress thread hangs in the
  /// transport.
  [[gnu::cold]] rank_query query_ranks(std::chrono::milliseconds wait);

  /// Finds operations that wait only for ranks that have ended, so that the missing message never arrives.
  struct ended_peers_check {
    clock::time_point next;
    bool have_ended = false;           ///< result of the last check
    std::uint64_t received_bytes = 0;  ///< bytes at the last check; a last message may still arrive
  };
  static constexpr auto between_checks = std::chrono::milliseconds(500);
  /// Returns whether two checks in a row have found that all awaited ranks have ended and no bytes of
  /// messages arrived.
  [[gnu::cold]] bool waits_in_vain(task const& awaiting, ended_peers_check& check);

  /// Throws the error of a wait that failed after the duration `waited`. Returns if the operation has ended
  /// in the meantime.
  [[gnu::cold]] void fail_wait(task& one, clock::duration waited);

  /// "for rank 2 (at step 812, bucket 4) in allreduce": the late ranks of a slow operation.
  [[gnu::cold]] std::string describe_late(task& one);

  /// Logs a slow wait.
  [[gnu::cold]] void report(clock::duration waited, std::string const& late);

  [[gnu::cold]] static std::string in_seconds(clock::duration time);

  struct description {
    std::string name;
    std::vector<int> members;
    std::vector<int> awaited;  ///< the peer of a message between two ranks, else the members
  };
  /// Copies a task's description under state_mutex_, because another operation may reuse the task.
  [[gnu::cold]] description describe(task const& one);

  /// Returns an ended task without a handle: the one with the smallest sufficient scratch memory. If there is
  /// none, returns any ended task, or otherwise a new one.
  std::shared_ptr<task> acquire_task(std::size_t scratch_bytes);

  void enqueue(task& one);

  /// A task that has not ended, or null.
  std::shared_ptr<task> pending_task();

  /// Body of the progress thread: polls while a task is active.
  void run_progress_thread() noexcept;

  /// Ends the progress thread. Returns false if the thread hangs in the transport.
  bool end_thread();

  /// Keeps the engine reachable until the process ends, because other threads may still access it.
  void leak();

  static constexpr std::chrono::milliseconds patience{1000};  // limit of each wait after a failure

  bool threaded_ = false;
  bool oversubscribed_ = false;

  std::mutex transport_mutex_;  // guards the transport and the members before the blank line:
  std::vector<task*> active_;
  bool asked_to_abandon_ = false;

  std::mutex state_mutex_;  // guards the members before the blank line:
  std::condition_variable work_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<task>> tasks_;
  std::vector<task*> new_tasks_;
  std::uint32_t next_context_ = 1;
  failure_report failure_;
  bool abandoned_ = false;
  bool ending_ = false;
  bool ended_ = false;
  int waiters_ = 0;

  std::atomic<bool> poisoned_{false};
  std::mutex log_mutex_;
  std::thread progress_thread_;
};

}  // namespace cohort::detail
