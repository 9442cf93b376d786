// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp/detail/tcp_question.hpp>
#include <utility>

namespace cohort::detail {

void tcp_question::ask(std::vector<endpoint> const& at, greeting const& hello, tls_identity const& identity,
                       std::chrono::steady_clock::duration interval, socket_api& by) {
  auto const now = by.time().now();
  if (now < next_ || at.empty()) return;
  next_ = now + interval;
  if (pending_.size() == most_pending) pending_.pop_front();
  auto const bytes = hello.encoded();
  try {
    pending_.push_back({secure_stream(tcp_socket::connecting(at[attempts_++ % at.size()], by),
                                      secure_stream::role::client, identity),
                        {bytes.begin(), bytes.end()}});
  } catch (communicator_error const&) {  // the next attempt may succeed
  }
}

std::optional<std::vector<std::byte>> tcp_question::advance() {
  std::erase_if(pending_, [](attempt& one) { return !advance(one) && !one.has_answer; });
  auto const answered = std::ranges::find(pending_, true, &attempt::has_answer);
  if (answered == pending_.end()) return std::nullopt;
  std::vector<std::byte> table(answered->answer.begin() + frame_header::bytes, answered->answer.end());
  pending_.clear();
  return table;
}

bool tcp_question::advance(attempt& one) {
  secure_stream::progress const now = one.stream.advance();
  if (now != secure_stream::progress::ready) return now == secure_stream::progress::waits;
  while (!one.hello.empty()) {
    std::optional<std::size_t> const moved = one.stream.send(one.hello);
    if (!moved) return false;
    if (*moved == 0) return true;
    one.hello.erase(one.hello.begin(), one.hello.begin() + static_cast<std::ptrdiff_t>(*moved));
  }
  while (true) {
    std::byte piece[4096];
    std::optional<std::size_t> const moved = one.stream.receive(piece);
    if (!moved) return false;
    if (*moved == 0) return true;
    one.answer.insert(one.answer.end(), piece, piece + *moved);
    if (one.answer.size() < frame_header::bytes) continue;
    try {
      auto const head =
          frame_header::decoded(std::span<std::byte const>(one.answer).first<frame_header::bytes>());
      if (head.is != frame_header::kind::control || head.what != control_message::beat) return false;
      one.has_answer = one.answer.size() >= frame_header::bytes + head.frame_bytes;
      if (one.has_answer) return true;
    } catch (communicator_error const&) {  // no rank sends this
      return false;
    }
  }
}

tcp_answer::tcp_answer(secure_stream to, std::span<std::byte const> table,
                       std::chrono::steady_clock::time_point limit)
    : stream_(std::move(to)), limit_(limit) {
  auto const head = frame_header{.is = frame_header::kind::control,
                                 .what = control_message::beat,
                                 .frame_bytes = static_cast<std::uint32_t>(table.size())}
                        .encoded();
  bytes_.assign(head.begin(), head.end());
  bytes_.insert(bytes_.end(), table.begin(), table.end());
}

bool tcp_answer::advance(std::chrono::steady_clock::time_point now) {
  while (sent_ < bytes_.size()) {
    std::optional<std::size_t> const moved = stream_.send(std::span<std::byte const>(bytes_).subspan(sent_));
    if (!moved) return true;
    if (*moved == 0) return now >= limit_;
    sent_ += *moved;
  }
  return true;
}

}  // namespace cohort::detail
