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

/// Header of a frame, followed by `frame_bytes` bytes of payload. A message consists of data frames: one
/// `first`, then any number of `more`. Frames of other kinds may be sent between these frames:
///
/// control, acknowledgement   control message of a rank_monitor, and its acknowledgement
/// ring                       location of the memory_ring that this process has created for its frames
/// maps_ring                  this process has mapped the other process's ring
/// to_ring                    all later frames are in the ring; later bytes of the connection only wake
/// wake                       empty: wakes the other process
/// hold, release              send no frames of data until `release`: see tcp_transport::hold_if_full
struct frame_header {
  enum class kind : std::uint8_t {
    first,
    more,
    control,
    acknowledgement,
    ring,
    maps_ring,
    to_ring,
    wake,
    hold,
    release
  };

  static constexpr std::size_t bytes = 20;
  static constexpr std::uint32_t most_in_frame = std::uint32_t{1} << 18;
  static constexpr std::uint64_t most_in_message = std::uint64_t{1} << 44;

  kind is = kind::first;
  channel on = channel::collective;              // of data frames
  control_message what = control_message::beat;  // of control frames and acknowledgements
  std::uint32_t tag = 0;                         // of data frames
  std::uint64_t message_bytes = 0;               // size of the message; only in a `first` frame
  std::uint32_t frame_bytes = 0;

  std::array<std::byte, bytes> encoded() const;
  /// Errors    communicator_error for bytes that no rank sends.
  static frame_header decoded(std::span<std::byte const, bytes> from);
};

/// Writes or reads numbers in little-endian order.
template <class Number>
void put_number(std::byte* to, Number number) {
  for (std::size_t k = 0; k < sizeof number; ++k) to[k] = std::byte(number >> 8 * k & 0xff);
}
template <class Number>
Number number_at(std::byte const* from) {
  Number made = 0;
  for (std::size_t k = 0; k < sizeof made; ++k)
    made = static_cast<Number>(made | static_cast<Number>(std::to_integer<Number>(from[k]) << 8 * k));
  return made;
}

/// The first bytes on a connection: the ranks at both ends, and the job. The receiver confirms these bytes
/// with the byte `welcome`; until then, the sender sends nothing else.
struct greeting {
  static constexpr std::size_t bytes = 40;
  static constexpr std::byte welcome{0x77};
  using job_token = std::array<std::byte, 16>;

  job_token token{};  // identifies this start of the job; all ranks know it
  std::uint32_t from = 0, to = 0, size = 0;
  std::uint32_t question = 0;  // 0: the connection is for messages; 1 + r: for a tcp_question about rank r

  std::array<std::byte, bytes> encoded() const;
  /// Returns the field `question` of an encoded greeting.
  static std::uint32_t question_of(std::span<std::byte const, bytes> got);
  /// Compares the encoded greeting `got` with `expected`, except for the sender's rank. Returns the
  /// difference as text. If there is none, returns "" and sets `from` to the sender's rank.
  static std::string refusal(std::span<std::byte const, bytes> got, greeting const& expected, int& from);
};

}  // namespace cohort::detail
