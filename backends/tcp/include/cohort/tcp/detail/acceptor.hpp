// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/detail/chrono.hpp>
#include <cohort/execution/sink.hpp>
#include <cohort/tcp/detail/endpoint.hpp>
#include <cohort/tcp/detail/frame.hpp>
#include <cohort/tcp/detail/secure_stream.hpp>
#include <cohort/tcp/detail/socket.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cohort::detail {

/// Returns the connection to close if there are too many: the first unauthenticated connection that is older
/// than a second or has sent nothing; if there is none, the oldest unauthenticated connection; if all are
/// authenticated, all.end(). `all`: connections in the order of arrival; `is_unknown`: whether a connection
/// is not authenticated.
template <class Connections, class Predicate>
auto first_to_close(Connections& all, std::chrono::steady_clock::time_point now, Predicate is_unknown) {
  constexpr auto time_to_authenticate = std::chrono::seconds(1);
  auto oldest = all.end();
  for (auto one = all.begin(); one != all.end(); ++one) {
    if (!is_unknown(*one)) continue;
    if (now - one->accepted >= time_to_authenticate || !one->has_sent) return one;
    if (oldest == all.end()) oldest = one;
  }
  return oldest;
}

/// A connection whose peer has completed the TLS handshake and sent its greeting.
struct greeted_connection {
  secure_stream stream;
  std::array<std::byte, greeting::bytes> bytes{};
  endpoint from{};
};

/// Accepts connections at the addresses of a process and receives their greetings, also while the process
/// joins the rendezvous. Connections that have not sent their greeting are bounded in number and age, and use
/// a bounded part of the thread's time.
class acceptor {
 public:
  using clock = std::chrono::steady_clock;
  static constexpr std::size_t most_unknown = 256;

  acceptor() = default;
  /// `by`: outlives this object.
  acceptor(std::vector<tcp_socket> listening, tls_identity identity, sink log,
           socket_api& by = system_sockets());

  /// Sets the name of this process in log lines: "rank 3".
  void set_name(std::string name) { name_ = std::move(name); }
  /// Accepts connections, and advances the connections that have sent bytes.
  ///
  /// Parameters  `share`: part of the time since the last call that this work may use. Unused time
  ///             accumulates up to `burst`.
  void advance(double share);
  /// Removes and returns the oldest connection that has sent its greeting; nullopt if there is none.
  std::optional<greeted_connection> next();
  /// Logs that a connection was refused: the first 20, then only their number.
  void refuse(endpoint const& from, std::string const& why);
  /// Closes a connection that has not sent its greeting. Returns false if there is none.
  bool close_one(std::string const& why);
  /// Returns the events after which advance must be called.
  socket_events& events() { return *events_; }
  /// Returns whether the share of time is used up: advance then ignores events.
  bool is_throttled() const { return is_throttled_; }
  /// Returns whether advance must be called although there is no event.
  bool has_timers() const { return is_throttled_ || !unknown_.empty() || !greeted_.empty(); }

 private:
  static constexpr auto time_to_greet = std::chrono::seconds(10);
  static constexpr std::size_t most_greeted = 4096;  // limit of the connections that next() has not returned
  static constexpr int most_in_a_row = 64, most_lines = 20;
  static constexpr double burst = 0.2, shortest_work = 0.001;  // seconds
  static constexpr std::uint64_t listening_event = 0;          // other events: ids of connections

  struct unknown {
    std::uint64_t id = 0;
    tcp_socket socket{};  // until the peer sends bytes, then moved into `stream`
    std::optional<secure_stream> stream{};
    std::array<std::byte, greeting::bytes> bytes{};
    std::size_t have = 0;
    clock::time_point accepted{};
    endpoint from{};
    bool has_sent = false;
  };
  using connection = std::deque<unknown>::iterator;

  void accept(tcp_socket& at);
  /// Continues a connection. Removes the connection from unknown_ if it has failed or has sent its greeting.
  void advance(connection one);
  void close_late(clock::time_point now);

  std::vector<tcp_socket> listening_;
  tls_identity identity_;
  sink log_;
  std::string name_ = "a process that joins";
  time_source* time_ = nullptr;
  std::unique_ptr<socket_events> events_;
  std::deque<unknown> unknown_;
  std::deque<greeted_connection> greeted_;
  std::uint64_t last_id_ = listening_event;
  clock::time_point last_{};
  double allowance_ = burst;  // seconds of work
  bool is_throttled_ = false, lacks_descriptor_ = false;
  std::int64_t refused_ = 0, next_count_ = 100;
};

}  // namespace cohort::detail
