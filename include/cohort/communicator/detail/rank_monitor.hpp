// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/communicator/detail/time_source.hpp>
#include <cohort/communicator/detail/transport.hpp>
#include <cohort/detail/chrono.hpp>
#include <cohort/error/detail/text.hpp>
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
/// A *beat* (heartbeat) contains the sender's table of the progress of all ranks; the latest entry of each
/// rank counts. A *question* is a beat that the receiver answers with a beat. A *failure* contains a
/// failure_report: one byte for its exit status, and its text. A *farewell* is a rank's last message.
enum class control_message : std::uint8_t { beat, question, failure, farewell };

/// Heartbeats, progress, failures and farewells of the ranks of a transport, which sends and receives their
/// messages.
///
/// Order     only one thread at a time may call the functions that send or receive. Any thread may call note,
///           note_wait, announce, trouble and delivered.
/// Units     silence counts only the time in which this rank has polled, so that a rank that was itself
///           suspended does not report the others as lost.
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
  void announce(failure_report const& why) noexcept;
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
  /// Waits until all ranks have left, at most `limit`. Returns whether all have left. Returns false without
  /// waiting further if a rank is lost or fails.
  ///
  /// Before    leave() was called.
  /// After     true: no message is pending. false: control messages are stopped, as by stop().
  bool wait_for_farewells(std::chrono::milliseconds limit);

  static constexpr auto longest_delivery = std::chrono::milliseconds(1000);

 protected:
  static constexpr std::size_t longest_text = 4096;

  rank_monitor(int rank, int size, std::chrono::milliseconds heartbeat, time_source& time = system_time());

  /// Receives the messages of a rank that have arrived, and calls handle for each.
  virtual void receive(int from) = 0;
  /// Starts to send a message. The bytes are copied.
  virtual void send(int to, control_message what, std::span<std::byte const> bytes) = 0;
  /// Completes sends that have ended.
  virtual void complete_sends() = 0;
  /// Returns whether a message of this kind to this rank is pending. A failure or farewell is pending until
  /// it has arrived.
  virtual bool is_sending(int to, control_message what) const = 0;
  virtual bool is_sending() const = 0;
  /// Whether this rank and `r` exchange heartbeats and farewells. Failures and questions are sent to all.
  virtual bool is_linked(int /*r*/) const { return true; }
  /// Called by stop.
  virtual void on_stop() noexcept {}

  void handle(int from, control_message what, std::span<std::byte const> bytes);
  /// Announces that a rank is lost, unless it has left or failed. `how`: "has closed its connection".
  void report_lost(int r, std::string const& how);

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
      announce(text_of({"rank ", rank_, ": ", error.what()}));
    }
  }

 private:
  static constexpr auto poll_interval = std::chrono::milliseconds(1);
  static constexpr auto longest_beat_interval = std::chrono::milliseconds(20);  // between two beats

  struct rank_entry {
    std::int64_t note_count;  // of that rank so far
    rank_progress where;
    std::int64_t waits_for;
  };
  struct peer {
    rank_progress where{};
    int waits_for = rank_status::nobody;
    std::int64_t note_count = 0;
    clock::duration last_heard{};  // value of listened_ at the last message
    bool answers = false;
    bool left = false;
    bool announced = false;  // has announced a failure
    bool lost = false;       // is silent
    bool linked = false;     // is_linked, at the last poll
  };

  peer& at(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  peer const& at(int rank) const { return peers_[static_cast<std::size_t>(rank)]; }

  void poll_once() noexcept;
  void exchange();
  /// Sends heartbeats to one rank after the other, so that each rank receives at least one per heartbeat_ /
  /// 4.
  void beat(clock::time_point now);

  std::vector<std::byte> progress_table();
  void send_to_all(control_message what, std::span<std::byte const> bytes);
  /// Sends unless a message of the same kind to this rank is still pending.
  void send_once(int to, control_message what, std::span<std::byte const> bytes);

  /// Sends the announcement, and checks its delivery.
  void announce_failure();
  void set_trouble(failure_report why);
  /// Announces ranks whose silence exceeds heartbeat_ as lost. If there is one, also announces ranks whose
  /// silence exceeds 3/4 of heartbeat_, so that ranks lost at the same time are reported together.
  void detect_lost_ranks();

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
  std::optional<failure_report> announcement_;
  std::optional<failure_report> trouble_;
  std::atomic<bool> delivered_ = true;
  std::atomic<bool> another_rank_failed_ = false;

 protected:
  std::atomic<bool> stopped_ = false;
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/rank_monitor.ipp>
#endif
