// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/communicator/communicator.hpp>
#include <cohort/communicator/detail/rank_monitor.hpp>
#include <cohort/communicator/detail/transport.hpp>
#include <cohort/tcp/detail/acceptor.hpp>
#include <cohort/tcp/detail/socket_api.hpp>
#include <cohort/tcp/detail/tcp_question.hpp>
#include <cohort/tcp/detail/tcp_receiver.hpp>
#include <cohort/tcp/detail/tcp_sender.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cohort::detail {

/// The ranks of a job and their addresses.
struct tcp_membership {
  int rank = 0;
  std::vector<std::vector<endpoint>> ranks{};  // addresses by rank, in the order of attempts
  std::vector<std::uint32_t> hosts{};          // each rank's host number, equal for ranks of one host
  greeting::job_token token{};
};

/// Transport over TCP. Each pair of ranks that exchanges messages has two connections, one in each direction,
/// opened by its sender. Between processes of one host, the bytes go through shared memory if the system
/// allows it; the connections then only wake the other process and detect its end.
///
/// Order     only the constructor, the destructor and the progress thread use the sockets.
/// Errors    communicator_error for a message of the wrong size. A closed connection, a damaged frame or a
///           rank that cannot be reached is announced to all ranks as a failure.
class tcp_transport final : public transport {
 public:
  /// `entrance`: accepts connections at the addresses of this rank. `last_trouble`, if not null, receives
  /// trouble() in close() and in the destructor; the destructor may detect that a rank is lost. `by` outlives
  /// this transport.
  tcp_transport(acceptor entrance, tcp_membership members, tls_identity identity,
                communicator_settings const& settings,
                std::shared_ptr<std::optional<failure_report>> last_trouble = {},
                socket_api& by = system_sockets());
  /// Waits for the other ranks to leave, because their messages may arrive until then.
  ~tcp_transport() override;

  std::string_view name() const override { return "tcp"; }
  int rank() const override { return members_.rank; }
  int size() const override { return static_cast<int>(members_.ranks.size()); }

  ticket send(int to, channel on, std::uint32_t tag, std::span<std::byte const> data) override;
  ticket receive(int from, channel on, std::uint32_t tag, std::span<std::byte> data) override;
  bool combines() const override { return true; }
  ticket receive_combining(int from, channel on, std::uint32_t tag, elements into, reduction how) override;
  bool done(ticket one) override;
  std::optional<waiting> probe(int from, channel on, std::uint32_t tag) override;

  time_source& time() override { return time_; }
  /// Returns false in a simulation, where all ranks share one thread.
  bool needs_progress_thread() const override { return !time_.is_virtual(); }
  void make_progress() override;
  /// Returns the number of bytes used by messages that have arrived before their receives.
  std::uint64_t kept_bytes() const;
  std::uint64_t moves() const override { return moves_; }
  std::uint64_t received_bytes() const override;
  void wait_for_event(std::chrono::microseconds longest) override;
  bool can_wake() const override { return true; }
  void wake() noexcept override;

  void note(rank_progress here) noexcept override { monitor_.note(here); }
  void note_wait(int waits_for) noexcept override { monitor_.note_wait(waits_for); }
  std::vector<rank_status> query_ranks(std::chrono::milliseconds patience) override {
    return monitor_.query_ranks(patience);
  }
  void announce(failure_report const& why) noexcept override { monitor_.announce(why); }
  std::optional<failure_report> trouble() const override { return monitor_.trouble(); }
  void abandon() noexcept override;
  void leave() noexcept override {
    leaves_ = true;
    monitor_.leave();
  }
  void close() noexcept override;

 private:
  using clock = rank_monitor::clock;
  static constexpr int attempts_per_heartbeat = 16;  // attempts of a tcp_question
  static constexpr auto time_to_answer = std::chrono::seconds(10);
  static constexpr auto longest_abandon = std::chrono::milliseconds(800);
  /// Limit for messages that no receive awaits, while no operation of this rank is pending.
  static constexpr std::uint64_t most_kept = std::uint64_t{64} << 20;
  /// Largest part of the progress thread's time for connections whose rank is not known yet.
  static constexpr double share_of_unknown = 0.05;
  /// Event ids other than ranks: events of entrance_, and of a sender that waits for its socket.
  static constexpr std::uint64_t entrance_event = std::uint64_t{1} << 32, sender_event = entrance_event + 1;

  /// Sends and receives control messages over the connections.
  class monitor final : public rank_monitor {
   public:
    explicit monitor(tcp_transport& over);
    using rank_monitor::asked;
    using rank_monitor::guard;
    using rank_monitor::handle;
    using rank_monitor::progress_table;
    using rank_monitor::report_lost;

   private:
    void receive(int) override {}  // empty, because exchange_bytes calls handle
    void send(int to, control_message what, std::span<std::byte const> bytes) override;
    void complete_sends() override { over_.exchange_bytes(); }
    bool is_sending(int to, control_message what) const override;
    bool is_sending() const override;
    bool is_linked(int r) const override;
    void ask(int r, int silent) override;
    bool shows_end() const override { return true; }

    tcp_transport& over_;
  };

  /// A message that is sent or received.
  struct operation {
    bool ended = false;
    int from = -1;  // sender of a receive
    std::uint32_t tag = 0;
    std::size_t expected = 0;
    std::uint64_t got = 0;
  };

  /// Another rank.
  struct other_rank final : tcp_receiver::events {
    other_rank(tcp_transport& over, int rank, tcp_sender to)
        : over(over), rank(rank), sender(std::move(to)) {}
    void received(ticket one, std::uint64_t bytes) override;
    void control(control_message what, std::span<std::byte const> bytes) override;
    void acknowledged(control_message what) override { sender.acknowledged(what); }
    void other(frame_header::kind what, std::span<std::byte const> bytes) override;

    tcp_transport& over;
    int rank;
    tcp_sender sender;
    tcp_receiver receiver{};
    tcp_question question{};
    bool awaited = false;   // a receive from this rank has begun
    bool closed = false;    // the connection from this rank is closed
    bool reported = false;  // a failure of `sender` has been reported
    bool offered = false;   // a ring has been offered, if this rank is on the same host
    int watched = -1;       // the sender's descriptor while events_ watches it
    socket_events::interest watched_for{};
    std::size_t attempts = 0;  // sender.attempts() when watch_senders was last called
  };

  greeting greeting_for(int r, std::uint32_t question) const;
  other_rank& at(int rank) { return *peers_[static_cast<std::size_t>(rank)]; }
  other_rank const& at(int rank) const { return *peers_[static_cast<std::size_t>(rank)]; }
  ticket begin(operation one);
  void exchange_bytes();
  /// Handles the events of the sockets.
  void poll_sockets();
  /// Advances the connections whose rank is not known yet, and admits those that have sent their greeting.
  void advance_entrance();
  void admit(greeted_connection one);
  /// Begins a tcp_answer to rank `from`, which asks because it receives nothing from rank `silent`.
  void answer(int from, int silent, secure_stream over);
  /// Advances this rank's pending tcp_questions to silent ranks, and its pending tcp_answers to questions of
  /// others.
  void advance_questions();
  void receive_from(other_rank& one);
  void read_ring(other_rank& one);
  /// Asks the other ranks to stop sending data while more than most_kept bytes are buffered and no operation
  /// or probe of this rank is pending. While an operation or probe is pending, all messages are buffered
  /// without a limit: the awaited message may follow these messages, or its sender may itself wait for their
  /// senders.
  void hold_if_full();
  void end_connection(other_rank& one, std::string const& why);
  void send_to(other_rank& one);
  /// Offers a shared-memory ring to `one`, once, if that rank is on this host.
  void offer_ring(other_rank& one);
  /// Stores in all rings whether this process sleeps, see tcp_receiver::sleeps. Returns whether nothing is
  /// pending, so that this process may sleep.
  bool announce_sleep(bool sleeps);
  /// Makes events_ watch the sockets of waiting senders.
  void watch_senders();

  socket_api& by_;
  time_source& time_;
  tcp_membership members_;
  tls_identity identity_;
  communicator_settings settings_;
  acceptor entrance_;
  bool watches_entrance_ = true;
  std::unique_ptr<socket_events> events_;
  std::atomic<bool> sleeps_ = false, woken_ = false;
  std::vector<std::unique_ptr<other_rank>> peers_;
  std::vector<tcp_answer> answers_;
  std::vector<operation> operations_;
  std::vector<ticket> unused_;
  bool has_rings_ = false;
  bool holds_ = false;  // the other ranks were asked to stop sending, see hold_if_full
  bool leaves_ = false;
  bool looks_ = false;  // since the last exchange, a probe has found no message
  unsigned polls_ = 0;
  std::uint64_t moves_ = 0;
  std::shared_ptr<std::optional<failure_report>> last_trouble_;
  monitor monitor_;
};

}  // namespace cohort::detail
