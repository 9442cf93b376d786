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

class message_bytes;

void put_members(message_bytes& to, tcp_membership const& members);
/// Errors    communicator_error for bytes that no rendezvous sends.
tcp_membership members_in(message_bytes& from);

/// Registration of a process at the rendezvous.
struct registration {
  std::string job{};
  std::string host{};  // equal for the processes of one host
  int ranks = 0;       // number of ranks in the job
  int rank = -1;       // requested by the process; −1 if any
  std::vector<endpoint> addresses{};
  std::string problem{};  // why this process cannot join; in an encrypted job, all ranks then fail

  std::vector<std::byte> encoded() const;
  /// Errors    communicator_error for bytes that no process sends.
  static registration decoded(std::span<std::byte const> bytes);
};

/// Answer of the rendezvous to a registration.
struct rendezvous_answer {
  enum class kind : std::uint8_t { waits, complete, refused, misconfigured, other_job };

  kind is = kind::waits;
  int joined = 0;      // processes that have joined so far
  std::string text{};  // for `waits`: the joined or missing ranks; for a refusal: the reason
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
  /// Sends and receives without blocking. Returns a message if one has arrived completely.
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

/// Meeting point of a job's processes. It collects the processes' addresses, assigns ranks, and sends all
/// ranks and addresses to each process. No training data passes through it.
///
/// Order     if no process requests a certain rank, ranks are assigned by host (in the order of the hosts'
///           names), then in the order of arrival.
/// After     the destructor first sends the pending answers if the job is complete.
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
  static constexpr int most_in_a_row = 256;                         // connections accepted per call
  static constexpr auto time_to_answer = std::chrono::seconds(10);  // limit of the destructor, if complete_
  static constexpr auto time_to_report = std::chrono::seconds(2);   // limit of the destructor, if problem_
  static constexpr auto claim_grace = std::chrono::seconds(2);      // limit for an answer of the first owner
  static constexpr std::uint32_t most_registration = 4096;

  struct connection {
    enum class state : std::uint8_t { unregistered, claims, member, ended };  // claims: wants a member's rank

    message_stream stream;
    endpoint from{};
    clock::time_point accepted{};
    state is = state::unregistered;
    registration wants{};  // received from the process
    clock::time_point claimed{};
    std::int64_t arrival = 0;
    bool has_sent = false;
    std::string last_text{};  // text of the last answer

    bool is_member() const { return is == state::member; }
    bool is_unknown() const { return is < state::member; }
  };
  struct refused_process {
    std::string host{};
    int rank = -1;  // −1 if any
    std::string why{};
  };

  void run() noexcept;
  /// Handles all connections. Returns whether the job is complete and all answers have been sent.
  bool advance();
  void read(connection& one);
  /// Makes the process a member, refuses it, or starts its claim to the rank of another member.
  void admit(connection& one);
  /// After claim_grace, decides which of two processes gets the rank that both request.
  void decide_claim(connection& one);
  /// Returns whether the member's host has acknowledged all sent bytes. A lost host acknowledges nothing,
  /// although its connection stays open.
  static bool is_reached(connection const& one);
  /// Returns the member that has requested this rank; null if there is none.
  connection* member_of_rank(int rank);
  int count_members() const;
  /// Ends the members whose connections have failed or were closed.
  void end_lost_members();
  void refuse(connection& one, rendezvous_answer::kind as, std::string const& why);
  /// Refuses this process, all members, and all processes that register later.
  void refuse_all(connection& one, std::string why);
  static void send_refusal(connection& one, rendezvous_answer::kind as, std::string const& why);
  /// Answers a Cohort process that encrypts while this service does not (or the reverse), so that the process
  /// can read the answer. Returns the reason for the log; "" for other failures.
  std::string answer_other_encryption(connection const& one) const;
  /// If all ranks have joined and no process claims a member's rank, sends the answers to all members.
  void complete();
  void accept_connections();
  /// Closes the connection of a process that is no member. Returns false if there is none.
  bool close_one(std::string_view why);
  /// Sends the number of members and membership_text() to the members that have not received this text.
  void send_progress();
  /// Returns the missing ranks, if processes request certain ranks; otherwise the addresses of the members.
  std::string membership_text() const;
  /// Logs a line, at most 20 in all. A failure of the log does not end the service.
  void log_line(std::string_view line) noexcept;
  /// Logs the end of a connection, once per host and reason.
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
  std::set<std::string> logged_;                 // host and reason of each logged end of a connection
  std::string problem_;                          // if not empty: why the job cannot begin
  refused_process last_refused_;                 // refused because of its settings
  bool complete_ = false, has_changed_ = false;  // has_changed_: members changed since send_progress
  std::atomic<bool> stops_ = false;
  std::thread thread_;
};

/// The largest number of ranks.
inline constexpr int most_ranks = 4096;

/// Registers this process, and waits until all processes of the job have registered.
///
/// Parameters  `retry`: called before each connection attempt except the first; it may start the rendezvous
///             in this process. `entrance`: accepts connections of other ranks during the wait; may be null.
/// Errors    communicator_error if the service refuses this process. communicator_error at the deadline if
///           not all processes have joined: the error names the address, the number of joined processes and
///           the missing ones. communicator_error at the deadline if a restarted job has reached only the
///           service of another job, such as its previous start. setting_error at once if settings of the
///           processes differ. setting_error after 10 s or at the deadline if the service does not accept the
///           key, only one side encrypts, or the address belongs to another job or program. socket_error at
///           once if this process has no free descriptor.
tcp_membership join_rendezvous(
    host_and_port const& at, tls_identity const& identity, registration const& mine,
    std::chrono::milliseconds deadline, std::function<void()> const& retry = [] {},
    acceptor* entrance = nullptr);

}  // namespace cohort::detail
