// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/detail/chrono.hpp>
#include <cohort/execution/sink.hpp>
#include <cohort/tcp/detail/acceptor.hpp>
#include <cohort/tcp/detail/tcp_transport.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace cohort::detail {

/// Registration of a process at the rendezvous.
struct registration {
  std::string job{};
  std::string host{};  // equal for the processes of one host
  int ranks = 0;       // of the job
  int rank = -1;       // that the process wants; −1: any
  std::vector<endpoint> addresses{};
  std::string problem{};  // why the process cannot join: the others end, too

  std::vector<std::byte> encoded() const;
  /// Errors    communicator_error for bytes that no process sends.
  static registration decoded(std::span<std::byte const> bytes);
};

/// Answer of the rendezvous to a registration.
struct rendezvous_answer {
  enum class kind : std::uint8_t { waits, complete, refused, misconfigured, other_job };

  kind is = kind::waits;
  int joined = 0;      // processes so far
  std::string text{};  // waits: who has joined, or is missing; of a refusal: the reason
  tcp_membership members{};

  std::vector<std::byte> encoded() const;
  /// Errors    communicator_error for bytes that no rendezvous sends.
  static rendezvous_answer decoded(std::span<std::byte const> bytes);
};

/// Sends and receives messages of bounded size over a stream.
class message_stream {
 public:
  static constexpr std::uint32_t most_bytes = std::uint32_t{1} << 24;

  message_stream(secure_stream over, std::uint32_t most) : stream_(std::move(over)), most_(most) {}

  void send(std::span<std::byte const> message);
  /// Sends and receives what is possible. Returns a message, if one has arrived.
  ///
  /// After     failure() is not empty if the connection has ended.
  std::optional<std::vector<std::byte>> advance();
  std::string const& failure() const { return failure_; }
  secure_stream::cause failure_cause() const { return cause_; }
  bool is_connected() const { return stream_.is_connected(); }
  bool is_flushed() const { return begin_ == out_.size(); }
  int descriptor() const { return stream_.socket().descriptor(); }

 private:
  secure_stream stream_;
  std::uint32_t most_;
  std::vector<std::byte> out_, in_;
  std::size_t begin_ = 0;
  bool ready_ = false;
  std::string failure_;
  secure_stream::cause cause_ = secure_stream::cause::network;
};

/// Meeting point of a job's processes. It collects their addresses, numbers them, and sends the numbers and
/// addresses to each of them. No training data passes through it.
///
/// Order     ranks are numbered by host (in the order of the hosts' names), then in the order of arrival, if
///           no process wants a certain rank.
/// After     the destructor lets all members have their answers, if the job is complete.
class rendezvous_service {
 public:
  rendezvous_service(tcp_socket listening, tls_identity identity, std::string job, int ranks, sink log);
  rendezvous_service(rendezvous_service const&) = delete;
  ~rendezvous_service();

 private:
  using clock = std::chrono::steady_clock;
  static constexpr std::ptrdiff_t most_unregistered = 256;
  static constexpr auto time_between_progress = std::chrono::seconds(1);
  static constexpr auto pause = std::chrono::milliseconds(100);  // if there is no free descriptor
  static constexpr auto time_to_register = std::chrono::seconds(10);
  static constexpr int most_in_a_row = 256;                         // connections that are accepted
  static constexpr auto time_to_answer = std::chrono::seconds(10);  // after the destructor's begin
  static constexpr auto time_to_report = std::chrono::seconds(2);   // problem_, after the destructor's begin
  static constexpr auto claim_grace = std::chrono::seconds(2);      // for the process that has the rank
  static constexpr std::uint32_t most_registration = 4096;

  struct connection {
    enum class state : std::uint8_t { unregistered, claims, member, ended };  // claims: a member's rank

    message_stream stream;
    endpoint from{};
    clock::time_point accepted{};
    state is = state::unregistered;
    registration wants{};  // as the process has sent it
    clock::time_point claimed{};
    std::int64_t arrival = 0;
    bool has_sent = false;
    std::string last_text{};  // of the last answer

    bool is_member() const { return is == state::member; }
    bool is_unknown() const { return is < state::member; }
  };
  struct refused_process {
    std::string host{};
    int rank = -1;  // −1: any
    std::string why{};
  };

  void run() noexcept;
  /// Returns whether all members have their answers.
  bool advance();
  void read(connection& one);
  /// Lets the process join, or refuses it.
  void admit(connection& one);
  /// Decides which of two processes has a rank, when claim_grace has passed.
  void decide_claim(connection& one);
  /// Whether the member's host has acknowledged all answers: a lost host does not, and closes no connection.
  static bool is_reached(connection const& one);
  /// The member that has the rank; or null.
  connection* member_of_rank(int rank);
  int count_members() const;
  /// Notices which members have closed their connections.
  void end_lost_members();
  void refuse(connection& one, rendezvous_answer::kind as, std::string const& why);
  /// Refuses this process, all members, and all processes that come later.
  void refuse_all(connection& one, std::string why);
  static void send_refusal(connection& one, rendezvous_answer::kind as, std::string const& why);
  /// Answers a process that does not encrypt as this service, if it is one of Cohort: it cannot read other
  /// answers.  Returns the reason; "" for other failures.
  std::string answer_other_encryption(connection const& one) const;
  /// Completes the job if all ranks have joined, and no process claims a rank.
  void complete();
  void accept_connections();
  /// Closes the connection of an unknown process. Returns false if there is none.
  bool close_one(std::string_view why);
  /// Sends the number of processes that have joined, and membership_text(), to those that do not have them.
  void send_progress();
  /// The ranks that are missing, if processes want certain ranks; otherwise the addresses that have joined.
  std::string membership_text() const;
  /// Logs a line; only the first 20. A log that fails does not end the service.
  void log_line(std::string_view line) noexcept;
  /// Logs the end of a connection; not again if a host tries again and again.
  void log_lost(connection const& one, std::string why);
  void log_end(connection const& one, char const* how, std::string const& why);

  tcp_socket listening_;
  tls_identity identity_;
  std::string job_;
  int ranks_;
  sink log_;
  std::deque<connection> connections_;
  std::int64_t arrivals_ = 0;
  clock::time_point next_progress_{}, next_accept_{};
  int lines_ = 0;
  std::set<std::string> logged_;                 // hosts and reasons of ends
  std::string problem_;                          // settings that differ: the job cannot begin
  refused_process last_refused_;                 // by its settings
  bool complete_ = false, has_changed_ = false;  // has_changed_: the members, since the last progress
  std::atomic<bool> stops_ = false;
  std::thread thread_;
};

/// The largest number of ranks.
inline constexpr int most_ranks = 4096;

/// Registers this process, and waits until all processes of the job have done so.
///
/// Parameters  `retry`: called before each attempt to connect but the first; the process may begin to run the
///             rendezvous then. `entrance`: accepts connections of other ranks meanwhile; or null.
/// Errors    communicator_error if the service refuses it, or if not all processes have joined at the
///           deadline: it names the address, how many have joined, and who is missing; also at the deadline
///           if a restart has met the service of another job only: that of the previous start.
///           setting_error at once if settings of the processes differ, and after 10 s or at the deadline if
///           the address has not accepted the key, does not encrypt as this process does, or belongs to
///           another job or program. socket_error at once if this process has no free descriptor.
tcp_membership join_rendezvous(
    host_and_port const& at, tls_identity const& identity, registration const& mine,
    std::chrono::milliseconds deadline, std::function<void()> const& retry = [] {},
    acceptor* entrance = nullptr);

}  // namespace cohort::detail
