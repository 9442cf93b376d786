// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/communicator/detail/transport.hpp>
#include <cohort/detail/chrono.hpp>
#include <cohort/error/detail/text.hpp>
#include <cohort/mpi/detail/call.hpp>
#include <cohort/mpi/detail/finalize_check.hpp>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace cohort::detail {

/// Control messages between ranks: heartbeats, progress, failures and farewells.
///
/// A *beat* (heartbeat) contains the sender's table of the progress of all ranks; the latest entry of each
/// rank counts. A *question* is a beat that the receiver answers with a beat. A *failure* contains the reason
/// as a text. A *farewell* is a rank's last message. Failures and farewells are sent synchronously: they have
/// arrived when the send is done.
///
/// Order     only one thread at a time may call the functions that send or receive. Any thread may call note,
///           note_wait, announce, trouble and delivered.
/// Units     silence counts only the time in which this rank has polled, so that a rank that was itself
///           suspended does not report the others as lost.
class mpi_control {
 public:
  using clock = std::chrono::steady_clock;

  /// `patience`: time limit for all ranks to join.
  mpi_control(MPI_Comm original, std::chrono::milliseconds heartbeat, std::chrono::milliseconds patience);
  ~mpi_control();

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(peers_.size()); }

  void note(rank_progress here) noexcept;
  void note_wait(int waits_for) noexcept;
  void announce(std::string const& why) noexcept;
  std::optional<std::string> trouble() const;
  /// Returns whether the announcement has reached every rank that must receive it.
  bool delivered() const { return delivered_; }
  /// Waits until delivered(), at most a second.
  ///
  /// Before    another thread calls make_progress().
  void wait_for_delivery() const;
  /// Returns whether another rank has announced a failure.
  bool another_rank_failed() const { return another_rank_failed_; }
  /// Stops all control messages: MPI is not called any more.
  void stop() noexcept {
    stopped_ = true;
    finalize_check_.end();
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
  /// Before    wait_for_farewells() has returned true.
  void free() noexcept {
    channel_.free();
    finalize_check_.free();
  }

  static constexpr auto longest_delivery = std::chrono::milliseconds(1000);

 private:
  static constexpr std::size_t longest_text = 4096;
  static constexpr auto poll_interval = std::chrono::milliseconds(1);
  static constexpr auto longest_beat_interval = std::chrono::milliseconds(20);  // between two beats
  enum class tag : int { beat, question, failure, farewell };

  struct rank_entry {
    std::int64_t note_count;  // of that rank so far
    rank_progress where;
    std::int64_t waits_for;
  };
  struct peer {
    MPI_Request request = MPI_REQUEST_NULL;  // receive of the next message
    std::vector<std::byte> buffer{};
    rank_progress where{};
    int waits_for = rank_status::nobody;
    std::int64_t note_count = 0;
    clock::duration last_heard{};  // value of listened_ at the last message
    bool answers = false;
    bool left = false;
    bool announced = false;  // has announced a failure
    bool lost = false;       // is silent
  };
  struct message {
    int to;
    tag what;
    std::vector<char> bytes;  // their address is stable when the message moves
    MPI_Request request;
  };
  /// Leaks the buffers that MPI may still access.
  void leak();

  peer& at(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  bool expects_messages(int r) { return r != rank_ && !at(r).left; }

  bool finished() const;

  void poll_once() noexcept;
  /// Announces an MPI error as a failure of this rank, instead of throwing in the progress thread.
  void guard(auto&& action) noexcept {
    try {
      action();
    } catch (std::exception const& error) {
      announce(text_of({"rank ", rank_, ": ", error.what()}));
    }
  }
  void exchange();
  /// Sends heartbeats to one rank after the other, so that each rank receives at least one per heartbeat_ /
  /// 4.
  void beat(clock::time_point now);

  void post_receive(int r);
  void receive(int r);
  void handle_message(int r, tag what, std::size_t bytes);

  std::vector<char> progress_table();
  void send_to_all(tag what, std::vector<char> const& bytes);
  /// Sends unless a message of the same kind to this rank is still pending.
  void send_once(int to, tag what, std::vector<char> const& bytes);
  void send(int to, tag what, std::vector<char> const& bytes);
  void free_completed_sends();

  /// Sends the announcement, and checks its delivery.
  void announce_failure();
  void set_trouble(std::string why);
  /// Announces ranks whose silence exceeds heartbeat_ as lost. If there is one, also announces ranks whose
  /// silence exceeds 3/4 of heartbeat_, so that ranks lost at the same time are reported together.
  void detect_lost_ranks();

  mpi_duplicate channel_;
  finalize_check finalize_check_;
  std::chrono::milliseconds heartbeat_;
  int rank_ = 0;
  std::vector<peer> peers_;
  std::vector<message> sent_;
  clock::duration listened_{};
  clock::time_point last_round_;
  clock::time_point next_beat_;
  int last_beat_to_ = 0;
  bool announced_ = false;

  std::mutex mutable mutex_;
  rank_progress here_;
  std::atomic<std::int64_t> note_count_ = 0;
  std::atomic<int> waits_for_ = rank_status::nobody;
  std::optional<std::string> announcement_;
  std::optional<std::string> trouble_;
  std::atomic<bool> delivered_ = true;
  std::atomic<bool> another_rank_failed_ = false;
  std::atomic<bool> stopped_ = false;
};

}  // namespace cohort::detail

#ifndef COHORT_MPI_COMPILED
#include <cohort/mpi/impl/control.ipp>
#endif
