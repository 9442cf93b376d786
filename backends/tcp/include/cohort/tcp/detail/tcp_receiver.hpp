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
/// Moves     a message whose receive has begun is received in its memory, or combined with it in pieces that
///           stay in the processor's cache; another one is kept and copied.
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
    /// Another frame: ring, maps_ring, wake, hold or release.
    virtual void other(frame_header::kind what, std::span<std::byte const> bytes) = 0;
  };

  void connect(secure_stream stream);
  bool is_connected() const { return stream_.has_value(); }
  /// Whether bytes have arrived on the connection. Before that, the sender may close it and open another one.
  bool has_begun() const { return begun_; }
  void disconnect() { stream_.reset(); }
  int descriptor() const { return stream_ ? stream_->socket().descriptor() : -1; }
  /// The memory that this process shares with the other one; it is read after a frame to_ring.
  memory_reader& memory() { return memory_; }
  /// As memory_reader::sleeps; false if bytes of the connection are left.
  bool sleeps(bool now) { return !has_more_ && memory_.sleeps(now); }

  /// Begins a receive. `how`: its elements are combined with those of `into`.
  void receive(ticket one, channel on, std::uint32_t tag, elements into, std::optional<reduction> how,
               events& of);
  /// Receives a message of this rank to itself.
  void deliver(channel on, std::uint32_t tag, std::span<std::byte const> data, events& of);
  /// The size of the first message with this channel and tag whose receive has not begun.
  std::optional<std::uint64_t> waiting(channel on, std::uint32_t tag) const;
  /// Memory of messages that have arrived before their receives.
  std::uint64_t kept_bytes() const { return kept_bytes_; }

  /// Receives what has arrived, at most about most_per_call bytes. Returns whether the connection is open.
  ///
  /// After     has_more(): bytes have arrived that were not received, although the socket may have no event.
  /// Errors    communicator_error for damaged bytes.
  bool advance(events& of);
  /// Receives what is in the ring, at most about most_per_call bytes. Returns whether there was anything.
  bool advance_ring(events& of);
  bool has_more() const { return has_more_; }
  /// Receives bytes that have arrived.
  ///
  /// Errors    as advance.
  void use(std::span<std::byte const> bytes, events& of);
  /// Why the connection is closed; empty: the other rank has closed it.
  std::string const& failure() const { return failure_; }

  /// Gives up all receives. Their memory is no longer accessed.
  void abandon();

 private:
  static constexpr std::size_t folded = std::size_t{32} << 10;
  static constexpr std::size_t staging = std::size_t{64} << 10;
  static constexpr std::size_t most_at_once = std::size_t{32} << 10;  // then the writer gets the space
  static constexpr std::size_t most_per_call = std::size_t{1} << 20;  // then other connections go on
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
    ticket its = 0;         // 0: its receive has not begun
    bool discards = false;  // its size is wrong, or it was given up
    elements into{};        // of its receive
    std::optional<reduction> how{};
    std::vector<std::byte> kept{};
  };

  void begin_frame(events& of);
  void begin_message();
  /// Receives from the connection; false if it is closed.
  bool advance_stream(events& of);
  /// Ends a message whose receive has begun.
  void end_message(std::list<message>::iterator one, events& of);
  /// Returns the memory for the next bytes of the frame; empty: they are discarded.
  std::span<std::byte> destination();
  void filled(std::size_t bytes, events& of);
  /// Copies bytes of the frame to destination().
  void take(std::span<std::byte const> bytes, events& of);
  void end_frame(events& of);
  void claim(message& one, wanted const& by);
  /// Combines bytes that are aligned, without a copy. Returns how many.
  std::size_t combine_in_place(std::span<std::byte const> bytes, events& of);
  /// Combines the whole elements of fold_ with those of the message's receive.
  void fold(message& one);

  std::optional<secure_stream> stream_;
  memory_reader memory_;
  bool begun_ = false, has_more_ = false;
  std::string failure_;
  std::vector<std::byte> staged_;  // made with the connection: most pairs of ranks never have one
  std::vector<std::byte> fold_;    // bytes of elements that are not combined yet; made with the first ones
  std::size_t fold_bytes_ = 0;
  isa isa_ = best_isa();
  std::vector<std::byte> head_;  // a part of a header
  std::optional<frame_header> frame_;
  std::size_t frame_left_ = 0;
  std::vector<std::byte> control_;
  std::list<message> messages_;
  std::uint64_t kept_bytes_ = 0;
  std::list<message>::iterator arriving_ = messages_.end();
  std::vector<wanted> wanted_;
};

}  // namespace cohort::detail
