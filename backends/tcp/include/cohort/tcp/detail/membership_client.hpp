// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tcp/detail/membership_service.hpp>
#include <cohort/tcp/detail/tcp_start.hpp>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace cohort::detail {

/// Connection of a process to the membership service, on a thread. If the connection ends, or the service is
/// silent for twice the limit of the heartbeat, the thread connects again. Training continues without the
/// service until the membership changes.
///
/// Order     one thread at a time calls its functions.
class membership_client {
 public:
  /// A membership that this process has accepted.
  struct start {
    membership current{};
    tcp_membership ranks{};
  };

  /// `meeting`: returns the addresses of the service, again after 5 s without a connection, because a host
  /// that replaces a lost one may have another address. `may_host`: called before each attempt to connect;
  /// may begin the service in this process. `ended`: called on the thread when the membership ends; may block
  /// for a second.
  membership_client(tcp_place where, std::string job, std::chrono::milliseconds silence,
                    std::function<std::vector<endpoint>()> meeting, std::function<void(bool is_new)> may_host,
                    std::function<void()> ended);
  membership_client(membership_client const&) = delete;
  ~membership_client();

  /// Waits for the first membership of the job, at most until the deadline; nullopt if the job has begun
  /// without this process.
  ///
  /// Errors    communicator_error with the service's reason, or if the deadline passes.
  std::optional<start> first(std::vector<endpoint> addresses, std::chrono::milliseconds deadline);
  /// Leaves the current membership, and waits for the next one. `step`: number of completed steps.
  /// `lost`: processes whose connections have ended.
  ///
  /// Errors    as first.
  start next(std::int64_t step, std::vector<process_id> lost, std::vector<endpoint> addresses,
             std::chrono::milliseconds deadline);
  /// This process, or all members, have the state of the run.
  void load();
  void confirm();
  /// Sets whether processes may join. After a call with false, returns when the service knows it, at most
  /// after a second.
  void accept_processes(bool accepts);
  /// Returns whether the service has ended the current membership. `ended` may have been called before the
  /// membership was connected.
  bool has_ended();
  /// Asks to leave the job. Returns false if too few processes would be left, or without an answer within
  /// 5 s.
  bool leave();
  /// This process has ended its part of the job. Returns after the service has been told, at most after a
  /// second.
  void quit();

 private:
  using clock = std::chrono::steady_clock;

  std::optional<start> wait(std::chrono::milliseconds deadline);
  void run() noexcept;
  void connect();
  void handle(service_message message);
  void send_report();

  tcp_place where_;
  std::string job_;
  std::chrono::milliseconds silence_;
  std::function<std::vector<endpoint>()> find_meeting_;
  std::function<void(bool)> may_host_;
  std::function<void()> ended_;
  process_id const self_;

  std::mutex mutex_;  // guards the members before the blank line:
  std::condition_variable changed_;
  member_report state_{};
  std::vector<endpoint> addresses_{};
  bool is_first_ = false;    // this process waits for the first membership
  bool is_outside_ = false;  // the job has begun without this process, which does not wait
  bool knows_job_ = false;   // the job has begun
  bool has_report_ = false;  // a report must be sent
  bool has_ended_ = false;   // the current membership
  enum class farewell : std::uint8_t { none, asks, left, stays, quits, sent };
  farewell farewell_ = farewell::none;
  std::uint64_t reports_ = 0, received_ = 0;  // sent, and answered
  bool stops_ = false;
  std::optional<start> begun_{};
  std::string refusal_{}, status_{};

  std::optional<message_stream> stream_;
  std::vector<endpoint> meeting_;
  clock::time_point heard_{};  // the service; or the time of the last attempt to connect
  clock::time_point next_beat_{}, next_attempt_{}, next_resolution_{};
  std::size_t attempts_ = 0;
  std::thread thread_;
};

}  // namespace cohort::detail
