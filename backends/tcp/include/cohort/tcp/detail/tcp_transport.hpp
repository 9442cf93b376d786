// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <cohort/communicator/communicator.hpp>
#include <cohort/communicator/detail/rank_monitor.hpp>
#include <cohort/communicator/detail/transport.hpp>
#include <cohort/tcp/detail/socket_api.hpp>
#include <cohort/tcp/detail/tcp_question.hpp>
#include <cohort/tcp/detail/tcp_receiver.hpp>
#include <cohort/tcp/detail/tcp_sender.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cohort::detail {

/// The ranks of a job and their addresses.
struct tcp_membership {
  int rank = 0;
  std::vector<std::vector<endpoint>> ranks{};  // of each rank, in the order in which others try them
  std::vector<std::uint32_t> hosts{};          // of each rank: equal for ranks of one host
  greeting::job_token token{};
};

/// Transport over TCP. Each pair of ranks that exchanges messages has two connections, one in each direction;
/// the sender opens it. Between processes of one host the bytes go through memory that both map, if the
/// system allows it; the connections then only wake the other process, and show its end.
///
/// Order     only the constructor, the destructor and the progress thread use the sockets.
/// Errors    communicator_error for a message of the wrong size. A closed connection, a damaged frame or a
///           rank that cannot be reached is announced as a failure.
class tcp_transport final : public transport {
 public:
  /// Begins with a socket that listens on the addresses of this rank. `last_trouble`: receives trouble() in
  /// the destructor, which may find out that a rank is lost; or null. `by`: outlives this transport.
  tcp_transport(std::vector<tcp_socket> listening, tcp_membership members, tls_identity identity,
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
  /// In a simulation all ranks share one thread.
  bool needs_progress_thread() const override { return !time_.is_virtual(); }
  void make_progress() override;
  std::uint64_t moves() const override { return moves_; }
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
  void leave() noexcept override { monitor_.leave(); }

 private:
  using clock = rank_monitor::clock;
  static constexpr std::size_t most_unknown = 256;  // connections whose rank is not known yet
  static constexpr auto time_to_greet = std::chrono::seconds(10);
  static constexpr auto least_time_to_connect = std::chrono::milliseconds(10'000);  // at least the heartbeat
  static constexpr int attempts_per_heartbeat = 16;                                 // of a question
  static constexpr int most_lines = 20;  // about refused connections
  static constexpr auto longest_delivery = std::chrono::milliseconds(800);
  /// Connections that are accepted in a row, and further ones per second.
  static constexpr double burst_per_rank = 4, burst = 64, accepted_per_second = 100;
  /// Ids of events that are not those of a rank: a listening socket; a waiting sender; from `first_unknown`
  /// on, connections whose rank is not known.
  static constexpr std::uint64_t listening_event = std::uint64_t{1} << 32, sender_event = listening_event + 1,
                                 first_unknown = listening_event + 2;

  /// Control messages over the connections.
  class monitor final : public rank_monitor {
   public:
    explicit monitor(tcp_transport& over);
    using rank_monitor::asked;
    using rank_monitor::finished;
    using rank_monitor::guard;
    using rank_monitor::handle;
    using rank_monitor::progress_table;
    using rank_monitor::report_lost;

   private:
    void receive(int) override {}  // exchange_bytes calls handle
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
    int from = -1;  // of a receive
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
    bool closed = false;    // the connection from this rank
    bool reported = false;  // a failure to send
    bool offered = false;   // this process has told where its ring is, if it is one of the same host
    int watched = -1;       // the descriptor of the sender, while it is awaited
    socket_events::interest watched_for{};
    std::size_t attempts = 0;  // of the sender, when it was awaited
  };

  /// A connection whose rank is not known yet.
  struct unknown {
    std::uint64_t id = 0;
    secure_stream stream;
    std::array<std::byte, greeting::bytes> bytes{};
    std::size_t have = 0;
    clock::time_point limit{};
    std::string from{};
  };

  greeting greeting_for(int r, std::uint32_t question) const;
  other_rank& at(int rank) { return *peers_[static_cast<std::size_t>(rank)]; }
  other_rank const& at(int rank) const { return *peers_[static_cast<std::size_t>(rank)]; }
  ticket begin(operation one);
  void exchange_bytes();
  /// Handles the events of the sockets.
  void poll_sockets();
  void accept_connections();
  /// Stops to listen after many connections in a row, and begins again later.
  void limit_rate();
  /// Continues the connection of this id, and ends those that have taken too long.
  void continue_unknown(std::uint64_t id);
  /// Continues a connection. Returns whether it has ended: refused, or given to its rank.
  bool greet(unknown& one);
  void refuse(unknown const& one, std::string const& why);
  /// Answers the question of a rank.
  void answer(int from, int silent, unknown& one);
  /// Continues questions and answers.
  void advance_questions();
  void receive_from(other_rank& one);
  void read_ring(other_rank& one);
  void end_connection(other_rank& one, std::string const& why);
  void send_to(other_rank& one);
  /// Tells a rank of this host where the ring for it is.
  void offer_ring(other_rank& one);
  /// Marks all rings, see tcp_receiver::sleeps. Returns whether this process may sleep.
  bool announce_sleep(bool sleeps);
  /// Reports when the sockets of waiting senders can be written.
  void watch_senders();

  socket_api& by_;
  time_source& time_;
  tcp_membership members_;
  tls_identity identity_;
  communicator_settings settings_;
  std::vector<tcp_socket> listening_;
  std::unique_ptr<socket_events> events_;
  std::atomic<bool> sleeps_ = false, woken_ = false;
  std::vector<std::unique_ptr<other_rank>> peers_;
  std::deque<unknown> unknown_;
  std::vector<tcp_answer> answers_;
  std::vector<operation> operations_;
  std::vector<ticket> unused_;
  bool has_rings_ = false;
  unsigned polls_ = 0;
  std::uint64_t moves_ = 0;
  std::uint64_t next_unknown_ = first_unknown;
  double may_accept_ = 0;  // connections
  clock::time_point may_accept_at_{};
  bool listens_ = true;
  std::int64_t refused_ = 0, next_count_ = 100;
  std::shared_ptr<std::optional<failure_report>> last_trouble_;
  monitor monitor_;
};

}  // namespace cohort::detail

#ifndef COHORT_TCP_COMPILED
#include <cohort/tcp/impl/tcp_transport.ipp>
#endif
