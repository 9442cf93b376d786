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

/// Asks a silent rank for a beat, on a new connection for each attempt. Several attempts are pending,
/// because an answer may take longer than the time between them. The messages of an interrupted connection do
/// not arrive when the interruption ends, but when TCP sends them again: after a time that doubles with each
/// attempt, so that the silence is up to twice as long.
///
/// Source    RFC 6298, 5.5: exponential back-off.
class tcp_question {
 public:
  /// Begins an attempt, unless one has begun within `interval`. `at`: addresses of the rank, tried in
  /// rotation.
  void ask(std::vector<endpoint> const& at, greeting const& hello, tls_identity const& identity,
           std::chrono::steady_clock::duration interval, socket_api& by);
  /// Continues the attempts. Returns the table of a beat, if the rank has answered. Then all attempts end.
  std::optional<std::vector<std::byte>> advance();
  bool is_pending() const { return !pending_.empty(); }

 private:
  /// An attempt has half a heartbeat, if one begins each 1/16. With TLS an answer takes three round trips: to
  /// connect, to agree on a key, to ask.
  static constexpr std::size_t most_pending = 8;

  struct attempt {
    secure_stream stream;
    std::vector<std::byte> hello;     // what is not sent yet
    std::vector<std::byte> answer{};  // as far as it has arrived
    bool has_answer = false;          // a whole beat
  };
  /// Returns whether an attempt is still pending.
  static bool advance(attempt& one);

  std::chrono::steady_clock::time_point next_{};
  std::size_t attempts_ = 0;
  std::deque<attempt> pending_;
};

/// The answer of a rank to a tcp_question.
class tcp_answer {
 public:
  /// `table`: of a beat.
  tcp_answer(secure_stream to, std::span<std::byte const> table, std::chrono::steady_clock::time_point limit);
  /// Sends. Returns whether nothing is left to do.
  bool advance(std::chrono::steady_clock::time_point now);

 private:
  secure_stream stream_;
  std::vector<std::byte> bytes_;
  std::size_t sent_ = 0;
  std::chrono::steady_clock::time_point limit_;
};

}  // namespace cohort::detail
