// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/execution/sink.hpp>
#include <cohort/tcp/detail/membership.hpp>
#include <cohort/tcp/detail/rendezvous.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace cohort::detail {

/// A message from a process of an elastic job to the membership service.
///
/// report   the state of the process; the first message of a connection
/// beat     the process runs
/// leave    the process asks to leave the job
/// quit     the process has ended its part of the job
struct member_message {
  enum class kind : std::uint8_t { report, beat, leave, quit };

  kind is = kind::beat;
  std::string job{};
  std::string host{};  ///< equal for the processes of one host
  process_id process = 0;
  bool is_first = false;     ///< the process has not been told yet whether the job has begun without it
  std::uint64_t serial = 0;  ///< number of the report
  member_report state{};
  std::vector<endpoint> addresses{};

  std::vector<std::byte> encoded() const;
  /// Errors    communicator_error for bytes that no process sends.
  static member_message decoded(std::span<std::byte const> bytes);
};

/// A message from the membership service.
///
/// begin      the next membership
/// end        the membership ends: wait for the next one
/// has_begun  answer to a report with is_first: the job has begun without this process
/// received   answer to a report with this serial number; `text`: how many processes wait
/// left       answer to `leave`: the process has left
/// stays      answer to `leave`: too few processes would be left
/// beat       answer to a beat
/// refused    `text` says why
struct service_message {
  enum class kind : std::uint8_t { begin, end, has_begun, received, left, stays, beat, refused };

  kind is = kind::received;
  std::uint64_t serial = 0;
  std::string text{};
  membership next{};         ///< of `begin`
  tcp_membership members{};  ///< of `begin`

  std::vector<std::byte> encoded() const;
  /// Errors    communicator_error for bytes that no service sends.
  static service_message decoded(std::span<std::byte const> bytes);
};

/// Settings of an elastic job.
struct elastic_settings {
  membership_rules::settings rules{};
  std::string claims{};  ///< directory that all hosts share, for membership_rules::decision::claim; "": none
};

/// Serves membership_rules to the processes of an elastic job over TCP, on a thread. The processes connect
/// again to a service that begins again: all state is in their reports.
class membership_service {
 public:
  membership_service(tcp_socket listening, tls_identity identity, std::string job, elastic_settings wanted,
                     sink log);
  membership_service(membership_service const&) = delete;
  ~membership_service();

  /// Waits until a membership with a larger number has begun, at most for `longest`.
  void wait_for_successor(std::int64_t number, std::chrono::milliseconds longest) const;

 private:
  using clock = membership_rules::clock;
  static constexpr std::uint32_t most_bytes = std::uint32_t{1} << 20;
  static constexpr std::size_t most_unknown = 256;
  static constexpr auto time_to_report = std::chrono::seconds(10);
  static constexpr auto time_to_answer = std::chrono::seconds(2);

  struct connection {
    message_stream stream;
    endpoint from{};
    clock::time_point accepted{};
    process_id process = 0;   // 0: unknown
    bool is_outside = false;  // the job has begun without this process, which does not wait to join
    bool ended = false;
  };
  struct place {
    std::string host{};
    std::vector<endpoint> addresses{};
  };

  void run() noexcept;
  void accept_connections();
  void read(connection& peer);
  void handle(connection& peer, member_message const& message);
  void decide();
  void begin(membership const& next);
  void dismiss_first();
  void send(process_id to, service_message const& message);
  void refuse(connection& peer, std::string const& why);
  /// Creates the file of a membership in the directory of claims, for a process. Returns the process for
  /// which the file was created, 0 if this is unknown; nullopt without a directory.
  std::optional<process_id> claim(membership const& last, process_id by) const;
  void log_line(std::string const& line) const noexcept;

  tcp_socket listening_;
  tls_identity identity_;
  std::string job_;
  elastic_settings how_;
  sink log_;
  membership_rules rules_;
  std::deque<connection> connections_;
  std::map<process_id, place> places_;
  std::vector<process_id> first_;        // processes that wait for the first membership
  std::atomic<std::int64_t> begun_ = 0;  // number of the last membership that this service has begun
  std::atomic<bool> stops_ = false;
  std::thread thread_;
};

}  // namespace cohort::detail
