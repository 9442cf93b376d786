// SPDX-License-Identifier: Apache-2.0
#include <openssl/crypto.h>

#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp/detail/frame.hpp>
#include <cstring>
#include <string_view>

namespace cohort::detail {

std::array<std::byte, frame_header::bytes> frame_header::encoded() const {
  std::array<std::byte, bytes> made{};
  made[0] = std::byte(is);
  made[1] = std::byte(on);
  made[2] = std::byte(what);
  put_number(made.data() + 4, tag);
  put_number(made.data() + 8, message_bytes);
  put_number(made.data() + 16, frame_bytes);
  return made;
}

frame_header frame_header::decoded(std::span<std::byte const, bytes> from) {
  frame_header made{.is = static_cast<kind>(from[0]),
                    .on = static_cast<channel>(from[1]),
                    .what = static_cast<control_message>(from[2]),
                    .tag = number_at<std::uint32_t>(from.data() + 4),
                    .message_bytes = number_at<std::uint64_t>(from.data() + 8),
                    .frame_bytes = number_at<std::uint32_t>(from.data() + 16)};
  bool const valid = made.is <= kind::release && made.on <= channel::peer
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

inline constexpr std::string_view greeting_mark = "cohort 2";

std::array<std::byte, greeting::bytes> greeting::encoded() const {
  std::array<std::byte, bytes> made{};
  std::memcpy(made.data(), greeting_mark.data(), greeting_mark.size());
  std::ranges::copy(token, made.begin() + 8);
  put_number(made.data() + 24, from);
  put_number(made.data() + 28, to);
  put_number(made.data() + 32, size);
  put_number(made.data() + 36, question);
  return made;
}

std::uint32_t greeting::question_of(std::span<std::byte const, bytes> got) {
  return number_at<std::uint32_t>(got.data() + 36);
}

std::string greeting::refusal(std::span<std::byte const, bytes> got, greeting const& expected, int& from) {
  if (std::memcmp(got.data(), greeting_mark.data(), greeting_mark.size()) != 0)
    return "it is not a rank of this version";
  if (::CRYPTO_memcmp(expected.token.data(), got.data() + 8, expected.token.size()) != 0)
    return "it belongs to another job";
  std::uint32_t const rank = number_at<std::uint32_t>(got.data() + 24);
  if (number_at<std::uint32_t>(got.data() + 32) != expected.size || rank >= expected.size
      || rank == expected.to || question_of(got) > expected.size)
    return "its rank does not exist";
  if (number_at<std::uint32_t>(got.data() + 28) != expected.to) return "its greeting is for another rank";
  from = static_cast<int>(rank);
  return "";
}

}  // namespace cohort::detail
