// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/combine.hpp>
#include <cohort/communicator/detail/memory_link.hpp>
#include <cohort/communicator/detail/transport.hpp>
#include <cohort/execution/isa.hpp>
#include <cohort/tcp/detail/frame.hpp>
#include <cohort/tcp/detail/secure_stream.hpp>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

/// The connection on which this rank receives from one other rank, and the messages that have arrived before
/// their receive began.
///
/// Cost      a message whose receive has begun is written directly to the receive's memory, or combined with
///           it in pieces that stay in the processor's cache. Any other message is buffered, then copied.
class tcp_receiver {
 public:
  using ticket = transport::ticket;

  /// Called while bytes are received.
  struct events {
    virtual ~events() = default;
    /// A receive has ended. `bytes`: size of the message, which may differ from that of the receive.
    virtual void received(ticket one, std::uint64_t bytes) = 0;
    virtual void control(control_message what, std::span<std::byte const> bytes) = 0;
    virtual void acknowledged(control_message what) = 0;
    /// A frame of another kind has arrived: ring, maps_ring, wake, hold or release.
    virtual void other(frame_header::kind what, std::span<std::byte const> bytes) = 0;
  };

  void connect(secure_stream stream);
  bool is_connected() const { return stream_.has_value(); }
  /// Returns whether bytes have arrived on the connection. Until then, the sender may replace the connection.
  bool has_begun() const { return begun_; }
  void disconnect() { stream_.reset(); }
  int descriptor() const { return stream_ ? stream_->socket().descriptor() : -1; }
  /// Returns the ring that the other process writes. The ring is used after a frame `to_ring`.
  memory_reader& memory() { return memory_; }
  /// Like memory_reader::sleeps, but false if bytes of the connection are pending.
  bool sleeps(bool now) { return !has_more_ && memory_.sleeps(now); }

  /// Begins a receive into `into`. `how`, if present: the reduction that combines the message with `into`.
  void receive(ticket one, channel on, std::uint32_t tag, elements into, std::optional<reduction> how,
               events& of);
  /// Delivers a message of this rank to itself.
  void deliver(channel on, std::uint32_t tag, std::span<std::byte const> data, events& of);
  /// Returns the size of the first message with this channel and tag whose receive has not begun; nullopt if
  /// there is none.
  std::optional<std::uint64_t> waiting(channel on, std::uint32_t tag) const;
  /// Returns the number of bytes used by messages that have arrived before their receives.
  std::uint64_t kept_bytes() const { return kept_bytes_; }

  /// Processes arrived bytes, at most about most_per_call. Returns whether the connection is still open.
  ///
  /// After     if has_more(), arrived bytes are pending although the socket may report no event.
  /// Errors    communicator_error for damaged bytes.
  bool advance(events& of);
  /// Processes the bytes in the ring, at most about most_per_call. Returns whether there were any bytes.
  bool advance_ring(events& of);
  bool has_more() const { return has_more_; }
  /// Processes arrived bytes.
  ///
  /// Errors    as advance.
  void use(std::span<std::byte const> bytes, events& of);
  /// Number of the messages' bytes that have arrived, without control messages.
  std::uint64_t message_bytes() const { return message_bytes_; }
  /// Returns why the connection is closed; "" if the other rank has closed it.
  std::string const& failure() const { return failure_; }

  /// Cancels all receives. Their memory is no longer accessed.
  void abandon();

 private:
  static constexpr std::size_t folded = std::size_t{32} << 10;
  static constexpr std::size_t staging = std::size_t{64} << 10;
  static constexpr std::size_t most_at_once = std::size_t{32} << 10;  // read before consume() frees the space
  static constexpr std::size_t most_per_call = std::size_t{1} << 20;  // before other connections are polled
  static constexpr std::size_t least_direct = std::size_t{16} << 10;

  struct wanted {
    ticket its = 0;
    channel on = channel::collective;
    std::uint32_t tag = 0;
    elements into{};
    std::optional<reduction> how{};
  };
  /// A message that is arriving, or has arrived.
  struct message {
    channel on = channel::collective;
    std::uint32_t tag = 0;
    std::uint64_t bytes = 0, filled = 0;
    ticket its = 0;         // ticket of its receive; 0: the receive has not begun
    bool discards = false;  // the message's size is wrong, or its receive was cancelled
    elements into{};        // destination of the receive
    std::optional<reduction> how{};
    std::vector<std::byte> kept{};
  };

  void begin_frame(events& of);
  void begin_message();
  /// Receives from the connection. Returns false if it is closed.
  bool advance_stream(events& of);
  /// Ends a message whose receive has begun.
  void end_message(std::list<message>::iterator one, events& of);
  /// Returns the memory for the next bytes of the frame; empty if they are discarded.
  std::span<std::byte> destination();
  void filled(std::size_t bytes, events& of);
  /// Copies bytes of the frame to destination().
  void take(std::span<std::byte const> bytes, events& of);
  void end_frame(events& of);
  void claim(message& one, wanted const& by);
  /// Combines aligned bytes with the receive's elements, without a copy. Returns the number of combined
  /// bytes.
  std::size_t combine_in_place(std::span<std::byte const> bytes, events& of);
  /// Combines the complete elements in fold_ with the receive's elements.
  void fold(message& one);

  std::optional<secure_stream> stream_;
  memory_reader memory_;
  bool begun_ = false, has_more_ = false;
  std::string failure_;
  std::vector<std::byte> staged_;  // allocated by connect(): most pairs of ranks never have a connection
  std::vector<std::byte> fold_;    // bytes of elements to be combined; allocated at first use
  std::size_t fold_bytes_ = 0;
  isa isa_ = best_isa();
  std::vector<std::byte> head_;  // a part of a header
  std::optional<frame_header> frame_;
  std::size_t frame_left_ = 0;
  std::vector<std::byte> control_;
  std::list<message> messages_;
  std::uint64_t kept_bytes_ = 0;
  std::uint64_t message_bytes_ = 0;
  std::list<message>::iterator arriving_ = messages_.end();
  std::vector<wanted> wanted_;
};

}  // namespace cohort::detail
