// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/rank_progress.hpp>
#include <cohort/detail/chrono.hpp>
#include <cohort/execution/sink.hpp>
#include <cohort/tensor/element.hpp>
#include <cohort/tensor/memory_space.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

/// Time limits of a communicator.
///
/// Units     `deadline`: longest wait for an operation. A process counts as lost only if it is unreachable
///           for at least `heartbeat`, or for 3/4 of `heartbeat` if another process is lost at that time. It
///           is reported as lost within 1.5 · `heartbeat`. Ranks that are threads ignore `heartbeat`.
struct communicator_settings {
  std::chrono::milliseconds deadline{120'000};
  std::chrono::milliseconds heartbeat{10'000};
  sink log{};  ///< receives log lines of rank 0, and lines of any rank about faults; empty: no log
};

namespace detail {

/// Errors    setting_error unless the deadline is from 1 ms to 1,000 hours.
[[gnu::cold]] void check_settings(communicator_settings const& how);

}  // namespace detail

/// Operation that combines the elements of several ranks.
enum class reduction { sum, maximum };

/// Traffic that a rank has sent since its communicator was created.
///
/// Units     payload bytes and messages of this rank, without headers and heartbeats. `progress_seconds` is
///           the processor time of the progress thread, or 0 without such a thread.
struct traffic {
  std::uint64_t bytes_sent = 0;
  std::uint64_t messages_sent = 0;
  double progress_seconds = 0;

  traffic& operator+=(traffic const& other) {
    bytes_sent += other.bytes_sent;
    messages_sent += other.messages_sent;
    progress_seconds += other.progress_seconds;
    return *this;
  }
};

/// Elements in the caller's memory that an operation reads and writes. Elements may be in a memory space for
/// which the communicator's sums_in returns true.
struct elements {
  std::byte* data = nullptr;
  element_type type = element_type::u8;
  std::size_t count = 0;
  memory_space* space = nullptr;  ///< null: the processor's memory

  elements() = default;
  elements(std::byte* at, element_type of, std::size_t many, memory_space* where = nullptr);
  template <class T, std::size_t N>
  elements(std::span<T, N> all)
      : data(reinterpret_cast<std::byte*>(all.data())), type(element_of<T>), count(all.size()) {}
  std::size_t bytes() const { return count * bytes_of(type); }
};

/// Result of an allgatherv: the bytes of every rank. An allgatherv into the same object reuses its memory.
struct gathered {
  std::vector<std::byte> bytes{};
  std::vector<std::size_t> first{};  ///< size + 1 entries; rank r's bytes are [first[r], first[r + 1])

  /// The bytes of one rank.
  std::span<std::byte const> of(int rank) const;
};

/// A message that has arrived and has not been received yet.
struct arrival {
  int from = 0;
  int tag = 0;
  std::size_t bytes = 0;
};

namespace detail {
/// An operation inside a communicator. The communicator keeps the operation until it is done, even after its
/// handle is destroyed.
struct activity {
  virtual ~activity() = default;
  virtual bool done() = 0;
  virtual std::chrono::steady_clock::time_point wait() = 0;
};
}  // namespace detail

/// Handle of a pending operation. The operation's memory must stay valid until done() returns true, wait()
/// returns, or one of them throws.
class pending_operation {
 public:
  pending_operation() = default;
  explicit pending_operation(std::shared_ptr<detail::activity> operation)
      : operation_(std::move(operation)) {}
  /// Returns whether the operation has ended. Makes progress if the communicator has no progress thread.
  bool done() { return !operation_ || operation_->done(); }
  /// Blocks until the operation has ended. Returns the time at which this rank observed the end; this time
  /// may precede the call. Without an operation, returns the clock's epoch.
  std::chrono::steady_clock::time_point wait();

 private:
  std::shared_ptr<detail::activity> operation_;
};

/// A group of numbered ranks that exchange messages and call the same collectives in the same order.
///
/// The *relatives* of a communicator are those that split and duplicate create from it, directly or
/// indirectly.
/// Order     all ranks start the same collectives in the same order; several may be pending. Any thread may
///           start an operation or wait, but only one thread at a time may use a communicator. Exception:
///           start_*, note and abort may run during a wait. The destructor of the last relative waits for all
///           pending operations.
/// Exact     the order of a sum depends only on the number of ranks and the number of bytes. Results are
///           equal on every rank and in every run, and the same over `threads`, `mpi` and `tcp`.
/// Errors    communicator_error on every rank if a wait exceeds its deadline, a rank is lost or fails, or a
///           message has the wrong size. The error names the missing ranks and their progress. The error
///           *poisons* the communicator and its relatives: later calls throw the same error at once.
///           setting_error for a root, rank or tag out of range.
/// Source    semantics and names of MPI 4.0, chapters 3, 6 and 7; rings: Patarasuk and Yuan, JPDC 2009;
///           halving and doubling: Thakur, Rabenseifner and Gropp, IJHPCA 2005.
class communicator {
 public:
  static constexpr int any_source = -1;
  static constexpr int largest_tag = 4095;

  virtual ~communicator() = default;
  communicator() = default;
  communicator(communicator const&) = delete;
  communicator& operator=(communicator const&) = delete;

  /// The kind of communicator, for example "self", "threads", "mpi" or "tcp".
  virtual std::string_view name() const = 0;
  /// Number of this rank, from 0 to size() − 1.
  virtual int rank() const = 0;
  /// Number of ranks P.
  virtual int size() const = 0;
  /// The settings that the communicator was created with.
  virtual communicator_settings const& settings() const = 0;

  /// Starts a broadcast.
  ///
  /// After     every rank holds the root's elements.
  /// Moves     per rank: at most ⌈log2 P⌉·n bytes for n bytes of data.
  virtual pending_operation start_broadcast(elements data, int root) = 0;
  /// Starts a reduction of each element over all ranks.
  ///
  /// After     every rank holds the result.
  /// Moves     per rank, for n bytes of data. Up to n = 16 KiB: log2 P messages of n bytes. Up to 512 KiB:
  ///           2·log2 P messages, in total 2(P−1)/P·n bytes. Above 512 KiB: 2(P−1) messages for each P·512
  ///           KiB, in total 2(P−1)/P·n bytes. If P is not a power of two, the second bound is 64 KiB, and
  ///           log2 P is rounded down. Up to this bound, the two ranks of each pair (detail::folded_ranks)
  ///           then also send each other n bytes. For more than 16 ranks, see
  ///           detail::choose_allreduce_algorithm for the second bound.
  virtual pending_operation start_allreduce(elements data, reduction how) = 0;
  /// Start the first and the second phase of start_allreduce. After the first phase, this rank's parts
  /// (parts_of_allreduce) contain the result, with the same bits as after start_allreduce; the other parts
  /// are unspecified. Before the second phase, this rank's parts contain its values; afterwards all ranks
  /// have the values of all parts. If the elements have no parts, the first phase is a whole allreduce, and
  /// the second phase does nothing.
  ///
  /// Before    the elements are in the processor's memory.
  /// Moves     each phase of an array with parts: half of the bytes and messages of start_allreduce.
  virtual pending_operation start_reduce_scatter_phase(elements data, reduction op) = 0;
  virtual pending_operation start_allgather_phase(elements data) = 0;
  /// Returns whether start_allreduce accepts elements in this memory space. No other operation accepts such
  /// elements. The allreduce begins after all work that was enqueued in the space before start_allreduce. The
  /// result is the same on all ranks that have a space of this kind.
  virtual bool sums_in(memory_space const&) const { return false; }
  /// Starts a reduction; each rank gets one part of the result.
  ///
  /// After     on rank r, part r of `data` contains part r of the result; the other parts are unspecified.
  ///           The parts (part_of) are as equal as possible.
  /// Moves     per rank: (P−1)/P·n bytes for n bytes of data.
  virtual pending_operation start_reduce_scatter(elements data, reduction how) = 0;
  /// Starts an exchange of equal parts.
  ///
  /// Before    rank r's contribution is in part r of `data`.    After  every rank holds all parts.
  /// Moves     per rank: (P−1)/P·n bytes for n bytes of data.
  virtual pending_operation start_allgather(elements data) = 0;
  /// Starts an exchange of byte strings whose sizes may differ between ranks.
  ///
  /// Moves     per rank: the sizes, then all contributions except that of the next rank.
  virtual pending_operation start_allgatherv(std::span<std::byte const> mine, gathered& all) = 0;
  /// Starts a barrier, which ends after all ranks have started the barrier.
  virtual pending_operation start_barrier() = 0;

  /// Starts a send. Messages between two ranks arrive in the order sent, for each tag. A send may end before
  /// its receive begins.
  virtual pending_operation start_send(std::span<std::byte const> data, int to, int tag) = 0;
  /// Starts a receive.
  ///
  /// Before    `data` has exactly the size of the message, which probe returns.
  virtual pending_operation start_receive(std::span<std::byte> data, int from, int tag) = 0;
  /// Returns the next message with this tag from rank `from`, or from any rank if `from` is any_source;
  /// nullopt if none has arrived. Does not block.
  virtual std::optional<arrival> probe(int from, int tag) = 0;
  /// Like probe, but blocks until a message arrives, at most until the deadline.
  virtual arrival wait_for_message(int from, int tag) = 0;

  /// Collective. Returns a communicator of the ranks with the same color, ordered by `order`, then by rank.
  virtual std::unique_ptr<communicator> split(int color, int order) = 0;
  /// Collective. Returns a communicator of the same ranks with separate messages.
  virtual std::unique_ptr<communicator> duplicate() = 0;

  /// Announces to all ranks that this rank has failed, and why. Poisons the communicator. Never throws.
  /// Returns the exit status with which this rank's process must end: that of the first failure of any rank.
  ///
  /// Parameters  `exit_status`: exit status of this failure, 1 to 255. The errors that the other ranks throw
  ///             have the same status.
  /// After     the memory of pending operations is no longer accessed. Returns within a second.
  virtual int abort(std::string const& why, int exit_status = 1) noexcept = 0;
  /// Records this rank's progress for stall reports. Cheap: sends no message.
  virtual void note(rank_progress here) noexcept = 0;
  /// Traffic of this rank, over this communicator and its relatives.
  virtual traffic sent() const = 0;

  /// Blocking versions: start the operation and wait until it has ended.
  void broadcast(elements data, int root) { start_broadcast(data, root).wait(); }
  void allreduce(elements data, reduction how = reduction::sum) { start_allreduce(data, how).wait(); }
  void reduce_scatter(elements data, reduction how = reduction::sum);
  void allgather(elements data) { start_allgather(data).wait(); }
  gathered allgatherv(std::span<std::byte const> mine);
  void barrier() { start_barrier().wait(); }
  void send(std::span<std::byte const> data, int to, int tag) { start_send(data, to, tag).wait(); }
  void receive(std::span<std::byte> data, int from, int tag) { start_receive(data, from, tag).wait(); }
};

/// Creates a communicator of one rank, the calling program.
std::unique_ptr<communicator> make_self(communicator_settings settings = {});

}  // namespace cohort
