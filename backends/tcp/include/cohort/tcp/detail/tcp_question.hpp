// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/chrono.hpp>
#include <cohort/tcp/detail/frame.hpp>
#include <cohort/tcp/detail/secure_stream.hpp>
#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

namespace cohort::detail {

/// Asks a silent rank for a heartbeat, on a new connection for each attempt. An interrupted connection
/// resumes only at TCP's next retransmission, and the intervals between retransmissions double: the silence
/// may last twice as long as the interruption. Several attempts may be pending at once, because an answer may
/// take longer than the interval between attempts.
///
/// Source    RFC 6298, 5.5: exponential back-off.
class tcp_question {
 public:
  /// Begins an attempt, unless the last attempt began less than `interval` ago. `at`: addresses of the rank,
  /// tried in rotation.
  void ask(std::vector<endpoint> const& at, greeting const& hello, tls_identity const& identity,
           std::chrono::steady_clock::duration interval, socket_api& by);
  /// Advances the pending attempts. If the rank has answered, returns its progress table (see tcp_answer) and
  /// ends all attempts.
  std::optional<std::vector<std::byte>> advance();
  bool is_pending() const { return !pending_.empty(); }

 private:
  /// Limit of pending attempts; a further attempt replaces the oldest. At one attempt per 1/16 heartbeat, an
  /// attempt may last half a heartbeat. With TLS an answer takes three round trips: TCP connection, TLS
  /// handshake, greeting and answer.
  static constexpr std::size_t most_pending = 8;

  struct attempt {
    secure_stream stream;
    std::vector<std::byte> hello;     // unsent bytes of the greeting
    std::vector<std::byte> answer{};  // bytes that have arrived
    bool has_answer = false;          // `answer` is a complete heartbeat
  };
  /// Advances an attempt. Returns false if the attempt has failed.
  static bool advance(attempt& one);

  std::chrono::steady_clock::time_point next_{};
  std::size_t attempts_ = 0;
  std::deque<attempt> pending_;
};

/// A rank's pending answer to a tcp_question of another rank.
class tcp_answer {
 public:
  /// `table`: payload of the heartbeat to send, see rank_monitor::progress_table.
  tcp_answer(secure_stream to, std::span<std::byte const> table, std::chrono::steady_clock::time_point limit);
  /// Sends pending bytes. Returns whether this answer is finished: all is sent, the connection has failed, or
  /// `limit` has passed.
  bool advance(std::chrono::steady_clock::time_point now);

 private:
  secure_stream stream_;
  std::vector<std::byte> bytes_;
  std::size_t sent_ = 0;
  std::chrono::steady_clock::time_point limit_;
};

}  // namespace cohort::detail
