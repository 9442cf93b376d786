// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <cohort/communicator/detail/failure_report.hpp>
#include <cohort/communicator/detail/time_source.hpp>
#include <cohort/communicator/detail/transport.hpp>
#include <cohort/detail/chrono.hpp>
#include <cohort/detail/text.hpp>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// Control messages between ranks.
///
/// A *beat* (heartbeat) contains the sender's table of all ranks: each rank's progress, and the time since
/// the sender last received a message from that rank. Receivers keep the latest progress. A *question* is a
/// beat that the receiver answers with a beat. A *failure* contains a failure_report. A *farewell* is a
/// rank's last message.
enum class control_message : std::uint8_t { beat, question, failure, farewell };

/// Failure detector of a transport: exchanges heartbeats, progress, failures and farewells with the other
/// ranks. Derived classes send and receive the messages.
///
/// Order     only one thread at a time may call the functions that send or receive. Any thread may call note,
///           note_wait, announce, trouble and delivered.
/// Units     silence counts only the time in which this rank has polled, so that a rank that was itself
///           suspended does not report the others as lost.
///
/// Detection of lost ranks: a rank is silent if a quarter of the heartbeat passes without a message from it.
/// This rank then sends questions to the silent rank repeatedly (`ask`). The beats of this rank report the
/// silence to other ranks, which then send questions, too. After longest_silence(), this rank reports the
/// silent rank as lost. If other ranks still receive messages from the silent rank, this rank reports the
/// link to the silent rank instead. If this rank receives no messages at all, it reports itself. Before a
/// rank that received a report ends, it forwards the report, because other ranks may notice the end of its
/// connections first.
///
/// Source    indirect questions: SWIM, Das et al., DSN 2002.
class rank_monitor {
 public:
  using clock = std::chrono::steady_clock;

  rank_monitor(rank_monitor const&) = delete;
  rank_monitor& operator=(rank_monitor const&) = delete;
  virtual ~rank_monitor() = default;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(peers_.size()); }

  void note(rank_progress here) noexcept;
  void note_wait(int waits_for) noexcept;
  void announce(failure_report report) noexcept;
  std::optional<failure_report> trouble() const;
  /// Returns whether the announcement has reached every rank that must receive it.
  bool delivered() const { return delivered_; }
  /// Waits until delivered(), at most a second.
  ///
  /// Before    another thread calls make_progress().
  void wait_for_delivery() const;
  /// Returns whether another rank has announced a failure.
  bool another_rank_failed() const { return another_rank_failed_; }
  /// Stops all control messages.
  void stop() noexcept {
    stopped_ = true;
    on_stop();
  }

  /// Polls, at most once per millisecond.
  void make_progress();

  std::vector<rank_status> query_ranks(std::chrono::milliseconds patience);

  void leave() noexcept;
  /// Waits until all ranks have left, at most `limit`. Returns whether all have left. If a rank is lost or
  /// fails, returns false as soon as the report is delivered, or after longest_delivery.
  ///
  /// Before    leave() was called.
  /// After     if true, no message is pending; if false, control messages are stopped, as by stop().
  bool wait_for_farewells(std::chrono::milliseconds limit);

  static constexpr auto longest_delivery = std::chrono::milliseconds(1000);

 protected:
  rank_monitor(int rank, int size, std::chrono::milliseconds heartbeat, time_source& time = system_time());

  /// Receives the messages that have arrived from a rank, and calls handle for each.
  virtual void receive(int from) = 0;
  /// Starts to send a message. The bytes are copied.
  virtual void send(int to, control_message what, std::span<std::byte const> bytes) = 0;
  /// Completes sends that have ended.
  virtual void complete_sends() = 0;
  /// Returns whether a message of this kind to this rank is pending. A failure or farewell is pending until
  /// the message has arrived.
  virtual bool is_sending(int to, control_message what) const = 0;
  virtual bool is_sending() const = 0;
  /// Returns whether this rank and `r` exchange heartbeats and farewells. Questions and this rank's own
  /// failures are sent to all ranks, forwarded failures to linked ranks only.
  virtual bool is_linked(int /*r*/) const { return true; }
  /// Asks rank `r` for a beat, without waiting for earlier messages and without linking the two ranks.
  /// `silent`: the rank from which this rank receives nothing, `r` or another rank. Called at each poll as
  /// long as an answer is wanted.
  virtual void ask(int /*r*/, int /*silent*/) {}
  /// Handles a question of rank `from`: this rank then asks the silent rank, too.
  void asked(int from, int silent);
  /// Returns whether other ranks see the end of this process. If so, this rank forwards reports before it
  /// ends.
  virtual bool shows_end() const { return false; }
  /// Called by stop.
  virtual void on_stop() noexcept {}

  void handle(int from, control_message what, std::span<std::byte const> bytes);
  /// Announces after a short delay that a rank is lost, unless the rank has left or failed, or a report of
  /// the cause arrives first. `how`: what happened, for example "has closed its connection".
  void report_lost(int r, std::string const& how);
  /// Returns the content of a beat.
  std::vector<std::byte> progress_table();

  bool expects_messages(int r) const { return r != rank_ && !at(r).left && is_linked(r); }
  /// Largest size of a message in bytes.
  std::size_t longest_message() const;
  bool finished() const;

  /// Announces an error of the transport as a failure of this rank, instead of throwing in the progress
  /// thread.
  void guard(auto&& action) noexcept {
    try {
      action();
    } catch (std::exception const& error) {
      announce({text_of({"rank ", rank_, ": ", error.what()})});
    }
  }

 private:
  static constexpr auto poll_interval = std::chrono::milliseconds(1);
  static constexpr auto longest_beat_interval = std::chrono::milliseconds(20);  // time between two beats
  static constexpr auto longest_grace = std::chrono::milliseconds(200);         // delay of report_lost
  static constexpr int most_asked = 8;  // number of ranks to ask if this rank receives nothing

  struct rank_entry {
    std::int64_t note_count;  // number of calls of note and note_wait by this rank so far
    rank_progress where;
    std::int32_t waits_for;
    std::int32_t silence_ms;  // −1: the sender has received no message from this rank, and expects none
  };
  struct peer {
    rank_progress where{};
    int waits_for = rank_status::nobody;
    std::int64_t note_count = 0;
    clock::duration last_heard{};                      // listened_ at the last message or change of `linked`
    std::optional<clock::duration> last_message{};     // listened_ at the last message; nullopt: none yet
    std::optional<clock::duration> heard_elsewhere{};  // listened_ when another rank last received from it
    clock::duration asked_until{};                     // questions are sent until listened_ is this
    std::optional<clock::duration> ended_at{};         // listened_ when report_lost was called
    std::string ended_how{};
    bool answers = false;
    bool left = false;
    bool announced = false;  // has announced a failure
    bool lost = false;       // has been reported as lost
    bool linked = false;     // is_linked, at the last poll
  };

  peer& at(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  peer const& at(int rank) const { return peers_[static_cast<std::size_t>(rank)]; }

  void poll_once() noexcept;
  void exchange();
  /// Sends heartbeats to one rank after the other, so that each rank receives a heartbeat at least every
  /// heartbeat_ / 4.
  void beat(clock::time_point now);
  /// Time between heartbeats to two ranks.
  clock::duration beat_interval() const {
    return std::min<clock::duration>(longest_beat_interval, heartbeat_ / (4 * std::max(1, size() - 1)));
  }
  /// Silence after which a rank counts as lost: heartbeat_, plus the time between two beats of a rank, plus
  /// the time for the answer to a last question.
  clock::duration longest_silence() const {
    return heartbeat_ + beat_interval() * (size() - 1) + heartbeat_ / 4;
  }

  void send_to_all(control_message what, std::span<std::byte const> bytes);
  /// Sends unless a message of the same kind to this rank is still pending.
  void send_once(int to, control_message what, std::span<std::byte const> bytes);

  /// Sends the report of this rank to all ranks, or forwards the report of another rank. Checks the delivery.
  void announce_failure();
  /// Adopts the failure report of another rank.
  void accept(failure_report report);
  /// The time since the last message of a rank or the last change of its link.
  clock::duration silence(int r) const { return listened_ - at(r).last_heard; }
  /// Returns whether the last message of a rank arrived within the last heartbeat_ / part.
  bool has_heard(int r, int part) const {
    return at(r).last_message && listened_ - *at(r).last_message <= heartbeat_ / part;
  }
  void ask_silent_ranks();
  /// Announces ranks for which report_lost was called.
  void announce_ended_ranks();
  /// Announces ranks whose silence exceeds longest_silence() as lost. If there is such a rank, also announces
  /// ranks whose silence exceeds 3/4 of heartbeat_, so that ranks lost at the same time are reported
  /// together.
  void detect_lost_ranks();
  std::string describe_silence(std::span<int const> silent, clock::duration shortest) const;

  time_source& time_;
  std::chrono::milliseconds heartbeat_;
  int rank_ = 0;
  std::vector<peer> peers_;
  clock::duration listened_{};
  clock::time_point last_round_;
  clock::time_point next_beat_;
  int last_beat_to_ = 0;
  bool announced_ = false;

  std::mutex mutable mutex_;
  rank_progress here_;
  std::atomic<std::int64_t> note_count_ = 0;
  std::atomic<int> waits_for_ = rank_status::nobody;
  std::optional<failure_report> announcement_;  // report of this rank, or of another rank to forward
  bool forwards_ = false;
  std::optional<failure_report> trouble_;
  std::atomic<bool> delivered_ = true;
  std::atomic<bool> another_rank_failed_ = false;

 protected:
  std::atomic<bool> stopped_ = false;
};

}  // namespace cohort::detail
