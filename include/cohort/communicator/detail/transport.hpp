// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/communicator/detail/failure_report.hpp>
#include <cohort/communicator/detail/time_source.hpp>
#include <cohort/detail/chrono.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// Status of a rank, as known to another rank.
struct rank_status {
  bool answers = true;     ///< whether the rank has been active since the query
  bool ended = false;      ///< whether the rank has left without a failure
  rank_progress where{};   ///< the rank's last known progress
  int waits_for = nobody;  ///< the rank whose message this rank waits for

  static constexpr int several = -1;  ///< waits_for: a collective, or a message from any rank
  static constexpr int nobody = -2;   ///< waits_for: the rank is not in a wait
};

/// Separate streams of messages: those of collectives, and those between two ranks.
enum class channel : std::uint8_t { collective, peer };

/// Point-to-point messages: the interface that a message library implements. message_communicator builds
/// collectives, groups, deadlines and stall reports on this interface.
///
/// Order     one thread at a time calls send, receive, done, probe, make_progress and query_ranks. If
///           needs_progress_thread(), the same thread makes all these calls, and also calls leave. Any thread
///           may call note, note_wait, announce and trouble. Messages of one (sender, channel, tag) arrive in
///           the order sent. After a failure, abandon is called, then only make_progress.
/// Units     tags are below 2²³.
/// Errors    communicator_error from receive or done if a message and its receive have different sizes.
class transport {
 public:
  static constexpr int tag_bits = 23;
  /// Identifies a pending send or receive; 0: none.
  using ticket = std::uint64_t;

  virtual ~transport() = default;
  virtual std::string_view name() const = 0;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Starts a send or receive. Its memory must stay unchanged (send) or valid (receive) until done(ticket)
  /// returns true.
  virtual ticket send(int to, channel on, std::uint32_t tag, std::span<std::byte const> data) = 0;
  virtual ticket receive(int from, channel on, std::uint32_t tag, std::span<std::byte> data) = 0;
  /// Returns whether receive_combining is supported: a receiver can read the sender's memory, or combines a
  /// message while the message arrives.
  virtual bool combines() const { return false; }
  /// Starts a receive whose message is reduced into `into` instead of overwriting it.
  virtual ticket receive_combining(int /*from*/, channel, std::uint32_t /*tag*/, elements /*into*/,
                                   reduction);
  /// Returns whether a send or receive has ended. A ticket is invalid after its end.
  virtual bool done(ticket one) = 0;
  /// A message that has arrived and has not been received yet.
  struct waiting {
    int from = 0;
    std::size_t bytes = 0;
  };
  /// Returns the first waiting message with this channel and tag, from one rank or from any (−1).
  virtual std::optional<waiting> probe(int from, channel on, std::uint32_t tag) = 0;

  /// The time in which deadlines are measured.
  virtual time_source& time() { return system_time(); }
  /// Returns whether only a dedicated thread makes progress, because one thread alone may call the library.
  /// message_communicator then runs such a thread. Otherwise the callers of done() and wait() make progress.
  virtual bool needs_progress_thread() const = 0;
  /// Makes one pass over messages other than sends and receives: heartbeats, queries, answers.
  virtual void make_progress() {}
  /// A number that changes whenever bytes of a message, or of a heartbeat, have moved; constant if the
  /// transport cannot observe this. A progress thread that waits for the rest of a message then polls instead
  /// of sleeping.
  virtual std::uint64_t moves() const { return 0; }
  /// Number of the messages' bytes that this rank has received; 0 if the transport cannot observe this.
  virtual std::uint64_t received_bytes() const { return 0; }
  /// Sleeps until a message may have arrived, at most for `longest`. Used by waits without a progress thread,
  /// and by the progress thread if can_wake().
  virtual void wait_for_event(std::chrono::microseconds longest) = 0;
  /// Returns whether wait_for_event returns at once when a message arrives or another thread calls wake.
  virtual bool can_wake() const { return false; }
  /// Ends the current or the next wait_for_event. Any thread may call wake.
  virtual void wake() noexcept {}

  /// Records this rank's progress.
  virtual void note(rank_progress here) noexcept = 0;
  /// Records that a thread of this rank begins or ends a wait; see rank_status::waits_for.
  virtual void note_wait(int waits_for) noexcept = 0;
  /// Returns the status of every rank. Queries all ranks and waits up to `patience` for their answers. If
  /// `patience` is 0, returns the known status without a query.
  virtual std::vector<rank_status> query_ranks(std::chrono::milliseconds patience) = 0;
  /// Announces a failure of this rank to every rank. On every rank, trouble() returns this reason from then
  /// on, unless the rank already has another reason. If two ranks fail at once, ranks may thus have different
  /// reasons.
  virtual void announce(failure_report const& why) noexcept = 0;
  /// The reason of a failure, if there is one: the announcement of a rank, or a missing heartbeat.
  virtual std::optional<failure_report> trouble() const = 0;
  /// Cancels all pending sends and receives, which then never end.
  ///
  /// After     the memory of these messages is no longer accessed. An announcement has been sent, if
  ///           possible.
  virtual void abandon() noexcept {}
  /// Ends the participation of this rank without a failure: the other ranks no longer expect its messages or
  /// heartbeats. This is the last call to the transport. Not called after a failure.
  virtual void leave() noexcept = 0;
  /// Closes connections and ports after a failure, when the progress thread has ended.
  ///
  /// After     only wake, note, note_wait, announce and trouble may be called.
  virtual void close() noexcept {}
};

}  // namespace cohort::detail
