// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/communicator/detail/rank_monitor.hpp>
#include <cohort/communicator/detail/transport.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cohort::detail {

/// A part of what one rank sends to another: a header, then `frame_bytes` bytes. A message consists of frames
/// of data: `first`, then `more`. Other frames may come between them:
///
/// control, acknowledgement   of a rank_monitor
/// memory                     where this process has a secret number (see shared_memory_proof)
/// reads_memory               this process can read the memory of the other one
/// offer                      a message in memory that the other process can read: number and address
/// taken                      the message of that number was read
struct frame_header {
  enum class kind : std::uint8_t { first, more, control, acknowledgement, memory, reads_memory, offer, taken };

  static constexpr std::size_t bytes = 20;
  static constexpr std::uint32_t most_in_frame = std::uint32_t{1} << 18;
  static constexpr std::uint64_t most_in_message = std::uint64_t{1} << 44;

  kind is = kind::first;
  channel on = channel::collective;                  // of data
  control_message what = control_message::beat;      // of control and its acknowledgement
  std::uint32_t tag = 0;                             // of data
  std::uint64_t message_bytes = 0;                   // of a message, in its first frame and its offer
  std::uint32_t frame_bytes = 0;

  std::array<std::byte, bytes> encoded() const;
  /// Errors    communicator_error for bytes that no rank sends.
  static frame_header decoded(std::span<std::byte const, bytes> from);
};

/// A message in the memory of the process that sends it.
struct message_offer {
  static constexpr std::size_t bytes = 16;

  std::uint64_t number = 0;  // of the sender's offers
  std::uint64_t address = 0;

  std::array<std::byte, bytes> encoded() const;
  static message_offer decoded(std::span<std::byte const, bytes> from);
};

/// Shows whether two processes are on one host and may read each other's memory: a process tells its number,
/// and where it has a random number. The other one reads it there.
struct shared_memory_proof {
  static constexpr std::size_t bytes = 28;
  using nonce = std::array<std::byte, 16>;

  std::uint32_t process = 0;
  std::uint64_t address = 0;
  nonce number{};

  std::array<std::byte, bytes> encoded() const;
  static shared_memory_proof decoded(std::span<std::byte const, bytes> from);
  /// Whether this process can read the number of the other one.
  bool holds() const;
};

/// Reads memory of another process. Returns whether all of it was read.
bool read_memory(std::uint32_t process, std::uint64_t address, std::span<std::byte> into);

/// The first bytes on a connection: who connects to whom, in which job.
struct greeting {
  static constexpr std::size_t bytes = 48;
  using job_token = std::array<std::byte, 16>;

  job_token token{};        // of this start of the job; all ranks know it
  std::uint64_t epoch = 0;  // of the membership
  std::uint32_t from = 0, to = 0, size = 0;

  std::array<std::byte, bytes> encoded() const;
  /// Returns why the bytes are not this greeting with any `from` below `size`; "" if they are.
  static std::string refusal(std::span<std::byte const, bytes> got, greeting const& expected, int& from);
};

}  // namespace cohort::detail

#ifndef COHORT_TCP_COMPILED
#include <cohort/tcp/impl/frame.ipp>
#endif
