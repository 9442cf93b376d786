// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/communicator/rank_progress.hpp>
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

/// How long ranks wait for each other.
///
/// Units     `deadline`: of each wait for an operation, from the moment that the wait begins. `heartbeat`: how long a
///           process may show no sign of life; ranks that are threads have none.
struct communicator_settings {
  std::chrono::milliseconds deadline{120'000};
  std::chrono::milliseconds heartbeat{10'000};
  sink log{};  ///< lines for the user, of rank 0 or of a fault; empty: none
};

namespace detail {

/// Refuses what no communicator can keep.
[[gnu::cold]] void check_settings(communicator_settings const& how);

}  // namespace detail

/// How the elements of several ranks become one.
enum class reduction { sum, maximum };

/// What a rank has put on the wire since the beginning.
///
/// Units     payload bytes and messages of this rank, its headers and heartbeats left out; `progress_seconds`: processor
///           time of a thread that only moves messages.
struct traffic {
  std::uint64_t bytes_sent = 0;
  std::uint64_t messages_sent = 0;
  double progress_seconds = 0;
};

/// Elements in the caller's memory that an operation reads and writes; in a space, where the communicator `sums_in` it.
struct elements {
  std::byte* data = nullptr;
  element_type type = element_type::u8;
  std::size_t count = 0;
  memory_space* space = nullptr;  ///< null: the processor's memory

  elements() = default;
  elements(std::byte* at, element_type of, std::size_t many, memory_space* where = nullptr);
  template <class T>
  elements(std::span<T> all)
      : data(reinterpret_cast<std::byte*>(all.data())), type(element_of<T>), count(all.size()) {}
  std::size_t bytes() const { return count * bytes_of(type); }
};

/// What an allgatherv has brought from every rank; its memory is used again.
struct gathered {
  std::vector<std::byte> bytes{};
  std::vector<std::size_t> first{};  ///< size + 1 places: rank r's bytes are [first[r], first[r + 1])

  std::span<std::byte const> of(int rank) const;
};

/// A message that has arrived and was not received yet.
struct arrival {
  int from = 0;
  int tag = 0;
  std::size_t bytes = 0;
};

namespace detail {
/// An operation inside a communicator. Kept by the communicator until it is done, whoever holds a handle.
struct activity {
  virtual ~activity() = default;
  virtual bool done() = 0;
  virtual std::chrono::steady_clock::time_point wait() = 0;
};
}  // namespace detail

/// An operation under way. Its memory must live until done() or wait() has said that it ended, or has thrown.
class request {
 public:
  request() = default;
  explicit request(std::shared_ptr<detail::activity> under_way) : under_way_(std::move(under_way)) {}
  /// Whether it has ended; moves it on where no other thread does.
  bool done() { return !under_way_ || under_way_->done(); }
  /// Returns when it ended: as this rank has seen it, perhaps before the wait. Without an operation: the clock's beginning.
  std::chrono::steady_clock::time_point wait();

 private:
  std::shared_ptr<detail::activity> under_way_;
};

/// Ranks that agree: each has a number, and all call the same collectives in the same order.
///
/// Order     collectives are matched by the order of their start on each rank; several may be under way. Any thread may
///           start or wait, one at a time for each communicator but for start_*, note and abort, which may be
///           called beside a wait. The last of a communicator and its relatives to go waits for what is under way.
/// Exact     a sum is taken in an order that depends on ranks and bytes alone: equal on every rank and run, and the
///           same over `threads` and `mpi`.
/// Errors    communicator_error on every rank, naming who was missing and where, when a wait outlasts its deadline, a
///           rank is lost or fails, or a message does not fit. The communicator and its relatives are *poisoned* by
///           it: later calls throw the same at once. setting_error for a root, rank or tag out of range.
/// Source    semantics and names of MPI 4.0, chapters 3, 6 and 7; rings: Patarasuk and Yuan, JPDC 2009; halving and doubling: Thakur, Rabenseifner
///           and Gropp, IJHPCA 2005.
class communicator {
 public:
  static constexpr int any_source = -1;
  static constexpr int largest_tag = 32'767;

  virtual ~communicator() = default;
  communicator() = default;
  communicator(communicator const&) = delete;
  communicator& operator=(communicator const&) = delete;

  /// "self", "threads", "mpi".
  virtual std::string_view name() const = 0;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual communicator_settings const& settings() const = 0;

  /// After     every rank holds the root's elements.
  /// Moves     at most ⌈log2 P⌉·n from any rank.
  virtual request start_broadcast(elements data, int root) = 0;
  /// After     every rank holds the reduction over the ranks of each element.
  /// Moves     up to 16 KiB log2 P messages of n a rank; up to 512 KiB 2·log2 P messages, beyond 2(P−1) for each P·512 KiB, with
  ///           2(P−1)/P·n together. Where P is no power of two: 64 KiB instead of 512; the logarithm is rounded down, and in its ways
  ///           ranks in pairs send one message of n more.
  virtual request start_allreduce(elements data, reduction how) = 0;
  /// Whether start_allreduce takes elements of that space too: what was put in to be done there before its start is done first.
  /// No other operation takes any. All ranks that have one give the same
  /// answer.
  virtual bool sums_in(memory_space const&) const { return false; }
  /// After     rank r holds the reduction in part r of `data` (part_of: as equal as possible); the rest is unspecified.
  /// Moves     (P−1)/P·n a rank.
  virtual request start_reduce_scatter(elements data, reduction how) = 0;
  /// Before    rank r's contribution stands in part r of `data`.    After  every rank holds all parts.
  /// Moves     (P−1)/P·n a rank.
  virtual request start_allgather(elements data) = 0;
  /// Bytes of any size, other on every rank.
  /// Moves     the sizes, then what the other ranks have: each contribution passes each rank once.
  virtual request start_allgatherv(std::span<std::byte const> mine, gathered& all) = 0;
  virtual request start_barrier() = 0;

  /// Messages between two ranks arrive in the order sent, for each tag. A send may end before its receive begins.
  virtual request start_send(std::span<std::byte const> data, int to, int tag) = 0;
  /// Before    the message has exactly that many bytes: probe tells.
  virtual request start_receive(std::span<std::byte> data, int from, int tag) = 0;
  /// The next message from that rank, or from any, if one is there.
  virtual std::optional<arrival> probe(int from, int tag) = 0;
  /// The same, waiting for it until the deadline.
  virtual arrival wait_for_message(int from, int tag) = 0;

  /// Collective: the ranks that give the same color, in the order of `order`, then of rank.
  virtual std::unique_ptr<communicator> split(int color, int order) = 0;
  /// Collective: the same ranks, in whose messages nobody else's get mixed.
  virtual std::unique_ptr<communicator> duplicate() = 0;

  /// Tells all ranks that this one cannot go on, and why. Poisons. Never throws.
  /// After     nobody touches the memory of what is under way; returns within a second.
  virtual void abort(std::string const& why) noexcept = 0;
  /// Says how far this rank is. Cheap: no message.
  virtual void note(rank_progress here) noexcept = 0;
  virtual traffic sent() const = 0;

  void broadcast(elements data, int root) { start_broadcast(data, root).wait(); }
  void allreduce(elements data, reduction how = reduction::sum) { start_allreduce(data, how).wait(); }
  void reduce_scatter(elements data, reduction how = reduction::sum);
  void allgather(elements data) { start_allgather(data).wait(); }
  gathered allgatherv(std::span<std::byte const> mine);
  void barrier() { start_barrier().wait(); }
  void send(std::span<std::byte const> data, int to, int tag) { start_send(data, to, tag).wait(); }
  void receive(std::span<std::byte> data, int from, int tag) { start_receive(data, from, tag).wait(); }
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/communicator.ipp>
#endif
