// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp/detail/tcp_question.hpp>
#include <utility>

namespace cohort::detail {

COHORT_TCP_INLINE void tcp_question::ask(std::vector<endpoint> const& at, greeting const& hello,
                                         tls_identity const& identity,
                                         std::chrono::steady_clock::duration patience, socket_api& by) {
  auto const now = by.time().now();
  if (now < next_ || at.empty()) return;
  next_ = now + patience;
  auto const bytes = hello.encoded();
  hello_.assign(bytes.begin(), bytes.end());
  answer_.clear();
  try {
    stream_ = secure_stream(tcp_socket::connecting(at[attempts_++ % at.size()], by),
                            secure_stream::role::client, identity);
  } catch (communicator_error const&) {  // the next attempt may succeed
    stream_ = {};
  }
}

COHORT_TCP_INLINE std::optional<std::vector<std::byte>> tcp_question::advance() {
  if (!stream_.is_open()) return std::nullopt;
  auto const end = [&] {
    stream_ = {};
    return std::nullopt;
  };
  secure_stream::progress const now = stream_.advance();
  if (now == secure_stream::progress::failed) return end();
  if (now == secure_stream::progress::waits) return std::nullopt;
  while (!hello_.empty()) {
    std::optional<std::size_t> const moved = stream_.send(hello_);
    if (!moved) return end();
    if (*moved == 0) return std::nullopt;
    hello_.erase(hello_.begin(), hello_.begin() + static_cast<std::ptrdiff_t>(*moved));
  }
  while (true) {
    std::byte piece[4096];
    std::optional<std::size_t> const moved = stream_.receive(piece);
    if (!moved) return end();
    if (*moved == 0) return std::nullopt;
    answer_.insert(answer_.end(), piece, piece + *moved);
    if (answer_.size() < frame_header::bytes) continue;
    try {
      auto const head =
          frame_header::decoded(std::span<std::byte const>(answer_).first<frame_header::bytes>());
      if (head.is != frame_header::kind::control || head.what != control_message::beat) return end();
      if (answer_.size() < frame_header::bytes + head.frame_bytes) continue;
      std::vector<std::byte> table(answer_.begin() + frame_header::bytes, answer_.end());
      end();
      return table;
    } catch (communicator_error const&) {  // no rank sends this
      return end();
    }
  }
}

COHORT_TCP_INLINE tcp_answer::tcp_answer(secure_stream to, std::span<std::byte const> table,
                                         std::chrono::steady_clock::time_point limit)
    : stream_(std::move(to)), limit_(limit) {
  auto const head = frame_header{.is = frame_header::kind::control,
                                 .what = control_message::beat,
                                 .frame_bytes = static_cast<std::uint32_t>(table.size())}
                        .encoded();
  bytes_.assign(head.begin(), head.end());
  bytes_.insert(bytes_.end(), table.begin(), table.end());
}

COHORT_TCP_INLINE bool tcp_answer::advance(std::chrono::steady_clock::time_point now) {
  while (sent_ < bytes_.size()) {
    std::optional<std::size_t> const moved = stream_.send(std::span<std::byte const>(bytes_).subspan(sent_));
    if (!moved) return true;
    if (*moved == 0) return now >= limit_;
    sent_ += *moved;
  }
  return true;
}

}  // namespace cohort::detail
