// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <openssl/crypto.h>
#include <sys/uio.h>

#include <algorithm>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp/detail/frame.hpp>
#include <cstring>
#include <string_view>

namespace cohort::detail {

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

COHORT_TCP_INLINE std::array<std::byte, frame_header::bytes> frame_header::encoded() const {
  std::array<std::byte, bytes> made{};
  made[0] = std::byte(is);
  made[1] = std::byte(on);
  made[2] = std::byte(what);
  put_number(made.data() + 4, tag);
  put_number(made.data() + 8, message_bytes);
  put_number(made.data() + 16, frame_bytes);
  return made;
}

COHORT_TCP_INLINE frame_header frame_header::decoded(std::span<std::byte const, bytes> from) {
  frame_header made{.is = static_cast<kind>(from[0]),
                    .on = static_cast<channel>(from[1]),
                    .what = static_cast<control_message>(from[2]),
                    .tag = number_at<std::uint32_t>(from.data() + 4),
                    .message_bytes = number_at<std::uint64_t>(from.data() + 8),
                    .frame_bytes = number_at<std::uint32_t>(from.data() + 16)};
  bool const valid = made.is <= kind::taken && made.on <= channel::peer
                     && made.what <= control_message::farewell && from[3] == std::byte{0}
                     && made.tag < std::uint32_t{1} << transport::tag_bits
                     && made.message_bytes <= most_in_message && made.frame_bytes <= most_in_frame
                     && (made.is != kind::first || made.frame_bytes <= made.message_bytes);
  if (!valid)
    throw communicator_error({.what = "a message is damaged",
                              .expected = "a frame that a rank sends",
                              .got = {"kind ", static_cast<int>(from[0]), ", ", made.frame_bytes, " bytes"}});
  return made;
}

COHORT_TCP_INLINE std::array<std::byte, message_offer::bytes> message_offer::encoded() const {
  std::array<std::byte, bytes> made{};
  put_number(made.data(), number);
  put_number(made.data() + 8, address);
  return made;
}

COHORT_TCP_INLINE message_offer message_offer::decoded(std::span<std::byte const, bytes> from) {
  return {number_at<std::uint64_t>(from.data()), number_at<std::uint64_t>(from.data() + 8)};
}

COHORT_TCP_INLINE std::array<std::byte, shared_memory_proof::bytes> shared_memory_proof::encoded() const {
  std::array<std::byte, bytes> made{};
  put_number(made.data(), process);
  put_number(made.data() + 4, address);
  std::ranges::copy(number, made.begin() + 12);
  return made;
}

COHORT_TCP_INLINE shared_memory_proof shared_memory_proof::decoded(std::span<std::byte const, bytes> from) {
  shared_memory_proof made{number_at<std::uint32_t>(from.data()), number_at<std::uint64_t>(from.data() + 4)};
  std::copy_n(from.begin() + 12, made.number.size(), made.number.begin());
  return made;
}

COHORT_TCP_INLINE bool read_memory(std::uint32_t process, std::uint64_t address, std::span<std::byte> into) {
  while (!into.empty()) {
    iovec const here{into.data(), into.size()};
    iovec const there{reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), into.size()};
    ssize_t const count = ::process_vm_readv(static_cast<pid_t>(process), &here, 1, &there, 1, 0);
    if (count <= 0) return false;
    address += static_cast<std::uint64_t>(count);
    into = into.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

COHORT_TCP_INLINE bool shared_memory_proof::holds() const {
  nonce found{};
  return read_memory(process, address, found) && found == number;
}

inline constexpr std::string_view greeting_mark = "cohort 1";

COHORT_TCP_INLINE std::array<std::byte, greeting::bytes> greeting::encoded() const {
  std::array<std::byte, bytes> made{};
  std::memcpy(made.data(), greeting_mark.data(), greeting_mark.size());
  std::ranges::copy(token, made.begin() + 8);
  put_number(made.data() + 24, epoch);
  put_number(made.data() + 32, from);
  put_number(made.data() + 36, to);
  put_number(made.data() + 40, size);
  return made;
}

COHORT_TCP_INLINE std::string greeting::refusal(std::span<std::byte const, bytes> got, greeting const& expected,
                                                int& from) {
  if (std::memcmp(got.data(), greeting_mark.data(), greeting_mark.size()) != 0)
    return "it is not a rank of this version";
  if (::CRYPTO_memcmp(expected.token.data(), got.data() + 8, expected.token.size()) != 0)
    return "it belongs to another job";
  if (number_at<std::uint64_t>(got.data() + 24) != expected.epoch) return "it belongs to another membership";
  std::uint32_t const rank = number_at<std::uint32_t>(got.data() + 32);
  if (number_at<std::uint32_t>(got.data() + 40) != expected.size || rank >= expected.size || rank == expected.to)
    return "its rank does not exist";
  if (number_at<std::uint32_t>(got.data() + 36) != expected.to) return "it looks for another rank";
  from = static_cast<int>(rank);
  return "";
}

}  // namespace cohort::detail
