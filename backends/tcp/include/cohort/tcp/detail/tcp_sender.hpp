// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/communicator/detail/memory_link.hpp>
#include <cohort/communicator/detail/transport.hpp>
#include <cohort/detail/chrono.hpp>
#include <cohort/tcp/detail/frame.hpp>
#include <cohort/tcp/detail/secure_stream.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

/// The connection on which this rank sends to one other rank. It opens with the first message.
///
/// Order     messages are sent in the order given; control frames overtake pending data frames. No frame is
///           sent before the other rank has confirmed the greeting, so connection attempts can be repeated.
class tcp_sender {
 public:
  using clock = std::chrono::steady_clock;
  using ticket = transport::ticket;

  /// `addresses`: addresses of the other rank. The addresses are tried in rotation until `time_to_connect`
  /// has passed or all addresses refuse.
  tcp_sender(std::vector<endpoint> addresses, greeting const& hello, tls_identity const& identity,
             std::chrono::milliseconds time_to_connect, socket_api& by = system_sockets());

  bool is_open() const { return opened_; }
  /// Returns the descriptor of the socket; −1 if there is none.
  int descriptor() const { return stream_.is_open() ? stream_.socket().descriptor() : -1; }
  /// Returns whether advance() has work: the connection is being established, or bytes are pending.
  bool wants_to_write() const { return opened_ && failure_.empty() && (!ready_ || has_bytes()); }
  /// Returns whether there is pending work that waits for the socket, not for space in the ring.
  bool waits_for_socket() const { return wants_to_write() && !memory_.is_used(); }
  /// Returns whether the sender waits for bytes of the TLS handshake or for the confirmation of its greeting.
  bool waits_for_bytes() const {
    return stream_.waits_for_bytes() || (!ready_ && greeted_ == greeting::bytes);
  }
  /// Returns the number of sockets opened so far. This number identifies the current socket; descriptors do
  /// not, because the system reuses them.
  std::size_t attempts() const { return attempts_; }
  /// Returns whether the other rank has confirmed the connection.
  bool was_connected() const { return ready_; }
  /// Returns whether the connection has failed because this process has no free descriptor; try_again() then
  /// begins a new attempt.
  bool lacks_descriptor() const { return lacks_descriptor_; }
  void try_again() {
    lacks_descriptor_ = false;
    failure_.clear();
  }

  void send(ticket one, channel on, std::uint32_t tag, std::span<std::byte const> data);
  void send_control(control_message what, std::span<std::byte const> bytes);
  void acknowledge(control_message what);
  /// Creates a ring, and sends its location to the other process. Does nothing if the system has no ring.
  void offer_ring();
  /// Sends all later frames through the ring, which the other process has mapped.
  void use_ring();
  /// Like memory_writer::sleeps.
  bool sleeps(bool now) { return memory_.sleeps(now, has_bytes()); }
  /// Confirms that this process has mapped the other process's ring.
  void confirm_ring();
  /// Wakes the other process.
  void wake();
  /// Asks the other process to stop or to resume sending data.
  void hold_other(bool holds);
  /// Stops or resumes sending data, as the other process has asked.
  void hold(bool holds) { holds_ = holds; }
  /// Returns whether a control frame of this kind is pending: not yet sent or, if it requires an
  /// acknowledgement, not yet acknowledged.
  bool is_sending(control_message what) const;
  void acknowledged(control_message what) { awaits_[static_cast<std::size_t>(what)] = false; }

  /// Sends as many bytes as the socket or the ring accepts. Calls `sent` for each message whose memory is no
  /// longer needed. Returns whether bytes were sent.
  ///
  /// After     failure() is not empty if the connection has failed.
  bool advance(std::function<void(ticket)> const& sent);
  std::string const& failure() const { return failure_; }

  /// Cancels all messages. Their memory is no longer accessed.
  void abandon();
  /// Returns whether all messages and control frames have been passed to the system.
  bool is_flushed() const { return !has_bytes() && messages_.empty(); }

 private:
  static constexpr std::size_t most_copied = std::size_t{16} << 10;

  struct message {
    ticket its = 0;
    channel on = channel::collective;
    std::uint32_t tag = 0;
    std::span<std::byte const> data{};
    std::uint64_t framed = 0;  // bytes put into frames so far
  };

  /// Limit of one attempt at one address; doubled after a round over all addresses.
  static constexpr auto first_time_of_attempt = std::chrono::milliseconds(3000);
  static constexpr auto first_pause = std::chrono::milliseconds(50);  // between two rounds
  static constexpr auto longest_pause = std::chrono::milliseconds(1000);

  void open();
  /// Advances the connection attempt. Returns whether the other rank has confirmed the connection.
  bool connect();
  void begin_attempt();
  /// Advances one attempt: TLS handshake, greeting, confirmation.
  secure_stream::progress continue_attempt();
  /// Ends an attempt, and selects the next address; sets failure_ after `time_to_connect`, or if all
  /// addresses refuse. `refused`: another attempt at this address would fail, too.
  void end_attempt(std::string const& why, bool refused);
  bool has_bytes() const {
    return begin_ < staged_.size() || !direct_.empty() || !control_.empty()
           || (!messages_.empty() && !holds_);
  }
  /// Puts the next frame into staged_ and direct_. Returns false if there is none.
  bool next_frame();
  /// Sends some bytes of the current frame. Returns whether any were sent.
  bool send_bytes();
  void stage(frame_header header, std::span<std::byte const> payload);
  void add_control(frame_header header, std::span<std::byte const> payload, control_message counts_as);

  socket_api* by_;
  std::vector<endpoint> addresses_;
  std::size_t address_ = 0, refused_ = 0, attempts_ = 0;  // refused_: addresses that refused in this round
  std::array<std::byte, greeting::bytes> hello_;
  std::size_t greeted_ = 0;  // bytes of hello_ that were sent
  tls_identity identity_;
  secure_stream stream_;
  std::chrono::milliseconds time_to_connect_, time_of_attempt_ = first_time_of_attempt, pause_ = first_pause;
  clock::time_point limit_{}, attempt_limit_{}, next_attempt_{};
  bool opened_ = false, ready_ = false, lacks_descriptor_ = false;
  std::string failure_;

  std::vector<std::byte> staged_;               // header and first bytes of the current frame
  std::size_t begin_ = 0;                       // offset of the unsent bytes in staged_
  std::span<std::byte const> direct_{};         // the rest of the frame
  bool ends_message_ = false;                   // the frame is the last of messages_.front()
  std::vector<std::byte> kept_;                 // the rest of a frame whose message was cancelled
  std::deque<std::vector<std::byte>> control_;  // whole frames
  std::deque<control_message> control_kinds_;
  std::deque<message> messages_;
  bool awaits_[4] = {};  // indexed by control_message: failures and farewells await acknowledgements
  memory_writer memory_;
  bool goes_to_ring_ = false, holds_ = false;
};

}  // namespace cohort::detail
