// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/communicator/communicator.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// What is known of a rank when others ask where it is.
struct standing {
  bool answers = true;    ///< it has shown a sign of life since it was asked
  bool ended = false;     ///< it has left in good order
  rank_progress where{};  ///< the last that anybody has heard
};

/// Messages that are kept apart: of collectives, and between two ranks.
enum class channel : std::uint8_t { collective, peer };

/// Bytes from rank to rank: all that a library of messages has to bring. Collectives, groups, deadlines and their
/// sentences are made of it once, in message_communicator.
///
/// Order     one thread at a time calls send, receive, done, probe, move and ask: where wants_a_thread(), always the same,
///           and leave too. note, announce and trouble may be called by any. Messages of one (sender, channel, tag)
///           arrive in the order sent. After a failure abandon is called, then move alone.
/// Units     tags are below 2³⁰.
/// Errors    communicator_error for a message of another size than was to be received, from receive or done.
class transport {
 public:
  /// Names a send or receive under way; 0: none.
  using ticket = std::uint64_t;

  virtual ~transport() = default;
  virtual std::string_view name() const = 0;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Memory stays untouched (send) or is filled (receive) until done(ticket) has said so.
  virtual ticket send(int to, channel on, std::uint32_t tag, std::span<std::byte const> data) = 0;
  virtual ticket receive(int from, channel on, std::uint32_t tag, std::span<std::byte> data) = 0;
  /// Whether receive_combining works: where a receiver can read the sender's memory.
  virtual bool combines() const { return false; }
  /// A receive that is reduced into what `into` holds, instead of taking its place.
  virtual ticket receive_combining(int /*from*/, channel, std::uint32_t /*tag*/, elements /*into*/,
                                   reduction);
  /// Whether it has ended; a ticket that has ended is void.
  virtual bool done(ticket one) = 0;
  /// The first message waiting on that channel with that tag, from that rank or any (−1).
  struct waiting {
    int from = 0;
    std::size_t bytes = 0;
  };
  virtual std::optional<waiting> probe(int from, channel on, std::uint32_t tag) = 0;

  /// Whether messages move only while move() is called by a thread that does nothing else (a library that may be called
  /// by one thread alone): message_communicator then runs one. Else callers of done() and wait() move them.
  virtual bool wants_a_thread() const = 0;
  /// A round of what goes on beside sends and receives: heartbeats, questions, answers.
  virtual void move() {}
  /// Sleeps until something may have happened, but no longer than that: for callers that wait without a thread of their
  /// own.
  virtual void doze(std::chrono::microseconds longest) = 0;

  /// How far this rank is.
  virtual void note(rank_progress here) noexcept = 0;
  /// Where is everybody? Asks, and waits for answers as long as that; one standing a rank. 0: what is known.
  virtual std::vector<standing> ask(std::chrono::milliseconds patience) = 0;
  /// Tells every rank why this one gives up; trouble() is that from now on, here, and there unless another reason was known
  /// before: two that give up at once may leave ranks with different words.
  virtual void announce(std::string const& why) noexcept = 0;
  /// Why nothing will come any more: what a rank has announced, or that one has shown no sign of life for too long.
  virtual std::optional<std::string> trouble() const = 0;
  /// After     nobody touches the memory of sends and receives under way any more; they never end. What was announced has
  ///           left, if anything was and can.
  virtual void abandon() noexcept {}
  /// Leaves in good order: others will not ask for this rank any more. Called once, last; not after a failure.
  virtual void leave() noexcept = 0;
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/transport.ipp>
#endif
