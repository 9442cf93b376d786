// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <chrono>
#include <cohort/communicator/detail/transport.hpp>
#include <cohort/error/detail/text.hpp>
#include <cohort/mpi/detail/call.hpp>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace cohort::detail {

/// What ranks tell each other beside their data: that they live, how far everybody is, why they give up, that they leave.
///
/// A *beat* carries the sender's table of where everybody is; of each rank the latest place counts. A *question* is a beat
/// that is answered by one. A *failure* is a text. A *farewell* is a rank's last message. Failures and farewells are sent
/// synchronously: they have arrived when they are done.
///
/// Order     one thread at a time calls what moves messages; note, announce, trouble and delivered may be called by any.
/// Units     silence counts only time in which this rank has listened: one that was stopped itself accuses nobody.
class mpi_control {
 public:
  using clock = std::chrono::steady_clock;

  /// `patience`: how long the other ranks are waited for.
  mpi_control(MPI_Comm original, std::chrono::milliseconds heartbeat, std::chrono::milliseconds patience);
  ~mpi_control();

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(peers_.size()); }

  void note(rank_progress here) noexcept;
  void announce(std::string const& why) noexcept;
  std::optional<std::string> trouble() const;
  /// Whether all who must hear what was announced have heard it.
  bool delivered() const { return delivered_; }
  /// Waits until then, a second at most.
  /// Before    another thread calls move().
  void wait_for_delivery() const;
  /// Whether another rank has announced a failure.
  bool was_told() const { return was_told_; }
  /// From now on nothing is moved, and MPI not called.
  void mute() noexcept { muted_ = true; }

  /// At most one round a millisecond.
  void move();

  std::vector<standing> ask(std::chrono::milliseconds patience);

  void leave() noexcept;
  /// Waits until all ranks have left, or one that has not is lost or fails, or that long.
  /// Before    leave(): nobody listens to this rank any more.
  /// After     whether all have left: nothing is under way any more. Else nothing moves any more.
  bool see_off(std::chrono::milliseconds limit);
  /// Before    see_off() was true.
  void free() noexcept { channel_.free(); }

  static constexpr auto longest_delivery = std::chrono::milliseconds(1000);

 private:
  static constexpr std::size_t longest_text = 4096;
  static constexpr auto round_every = std::chrono::milliseconds(1);
  static constexpr auto longest_pause = std::chrono::milliseconds(20);  // between two beats
  enum class tag : int { beat, question, failure, farewell };

  struct place {
    std::int64_t notes;  // of that rank so far
    std::int64_t step;
    std::int64_t bucket;
  };
  struct peer {
    MPI_Request request = MPI_REQUEST_NULL;  // of the message that comes next
    std::vector<std::byte> buffer{};
    rank_progress where{};
    std::int64_t notes = 0;
    clock::duration heard{};  // in listened_
    bool answers = false;
    bool left = false;
    bool told = false;  // has announced a failure
    bool lost = false;  // is silent
  };
  struct message {
    int to;
    tag what;
    std::vector<char> bytes;  // whose place stays when the message moves
    MPI_Request request;
  };
  void keep_for_ever();

  peer& at(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  bool listens(int r) { return r != rank_ && !at(r).left; }

  bool finished() const;

  void round() noexcept;
  /// What MPI refuses is trouble of all ranks, not an exception in a thread that serves others.
  void guard(auto&& action) noexcept {
    try {
      action();
    } catch (std::exception const& error) {
      announce(text_of({"rank ", rank_, ": ", error.what()}));
    }
  }
  void exchange();
  /// One rank after the other, so that each is told at least every quarter of a heartbeat, and somebody always knows.
  void beat(clock::time_point now);

  void listen(int r);
  void receive(int r);
  void heard(int r, tag what, std::size_t bytes);

  std::vector<char> table();
  void tell_all(tag what, std::vector<char> const& bytes);
  /// Not to one that has not taken the last such message yet.
  void send_once(int to, tag what, std::vector<char> const& bytes);
  void send(int to, tag what, std::vector<char> const& bytes);
  void clear_sent();

  void announce_failure();
  void give_up(std::string why);
  /// Ranks that are lost together are named together: with the first also those that are silent for nearly as long.
  void judge();

  mpi_duplicate channel_;
  std::chrono::milliseconds heartbeat_;
  int rank_ = 0;
  std::vector<peer> peers_;
  std::vector<message> sent_;
  clock::duration listened_{};
  clock::time_point last_round_;
  clock::time_point next_beat_;
  int last_told_ = 0;
  bool announced_ = false;

  std::mutex mutable mutex_;
  rank_progress here_;
  std::int64_t notes_ = 0;
  std::optional<std::string> announcement_;
  std::optional<std::string> trouble_;
  std::atomic<bool> delivered_ = true;
  std::atomic<bool> was_told_ = false;
  std::atomic<bool> muted_ = false;
};

}  // namespace cohort::detail

#ifndef COHORT_MPI_COMPILED
#include <cohort/mpi/impl/control.ipp>
#endif
