// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cerrno>
#include <cohort/detail/config.hpp>
#include <cohort/error/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp/detail/tcp_sender.hpp>
#include <cstring>
#include <utility>

namespace cohort::detail {

COHORT_TCP_INLINE tcp_sender::tcp_sender(std::vector<endpoint> addresses, greeting const& hello,
                                         tls_identity const& identity,
                                         std::chrono::milliseconds time_to_connect, socket_api& by)
    : by_(&by),
      addresses_(std::move(addresses)),
      hello_(hello),
      identity_(identity),
      time_to_connect_(time_to_connect) {}

COHORT_TCP_INLINE void tcp_sender::open() {
  if (std::exchange(opened_, true)) return;
  auto const bytes = hello_.encoded();
  staged_.assign(bytes.begin(), bytes.end());
  limit_ = by_->time().now() + time_to_connect_ * static_cast<int>(addresses_.size());
  connect();
}

COHORT_TCP_INLINE bool tcp_sender::connect() {
  constexpr auto pause = std::chrono::milliseconds(100);
  while (next_address_ < addresses_.size()) try {
      ++attempts_;
      stream_ = secure_stream(tcp_socket::connecting(addresses_[next_address_++], *by_),
                              secure_stream::role::client, identity_);
      connect_limit_ = by_->time().now() + time_to_connect_;
      return true;
    } catch (communicator_error const& refused) {
      why_ = refused.what();
    }
  next_address_ = 0;
  next_round_ = by_->time().now() + pause;
  stream_ = {};
  return false;
}

COHORT_TCP_INLINE bool tcp_sender::is_ready() {
  while (!ready_) {
    auto const now = by_->time().now();
    if (!stream_.is_open() && (now < next_round_ || !connect())) {
      if (now >= limit_) failure_ = why_.empty() ? "it has no address" : why_;
      return false;
    }
    secure_stream::progress const got = stream_.advance();
    bool const late = got == secure_stream::progress::waits && now >= connect_limit_;
    if (got == secure_stream::progress::waits && !late) return false;
    ready_ = got == secure_stream::progress::ready;
    if (ready_) break;
    bool const gives_up =
        next_address_ == addresses_.size() && stream_.failure() == std::strerror(ECONNREFUSED);
    why_ = text_of({"connecting to ", addresses_[next_address_ - 1].text(), ": ",
                    late ? text_of({"no answer in ", time_to_connect_.count(), " ms"}) : stream_.failure()});
    if (gives_up) failure_ = why_;
    if (gives_up || !connect()) return false;
  }
  return ready_;
}

COHORT_TCP_INLINE void tcp_sender::send(ticket one, channel on, std::uint32_t tag,
                                        std::span<std::byte const> data) {
  open();
  messages_.push_back({.its = one, .on = on, .tag = tag, .data = data});
}

COHORT_TCP_INLINE void tcp_sender::add_control(frame_header header, std::span<std::byte const> payload,
                                               control_message counts_as) {
  open();
  header.frame_bytes = static_cast<std::uint32_t>(payload.size());
  auto const begin = header.encoded();
  std::vector<std::byte>& made = control_.emplace_back(begin.begin(), begin.end());
  made.insert(made.end(), payload.begin(), payload.end());
  control_kinds_.push_back(counts_as);
}

COHORT_TCP_INLINE void tcp_sender::send_control(control_message what, std::span<std::byte const> bytes) {
  add_control({.is = frame_header::kind::control, .what = what}, bytes, what);
  awaits_[static_cast<std::size_t>(what)] =
      what == control_message::failure || what == control_message::farewell;
}

COHORT_TCP_INLINE void tcp_sender::acknowledge(control_message what) {
  add_control({.is = frame_header::kind::acknowledgement, .what = what}, {}, control_message::beat);
}

COHORT_TCP_INLINE void tcp_sender::offer_ring() {
  if (std::optional<ring_location> const where = memory_.offer())
    add_control({.is = frame_header::kind::ring}, where->encoded(), control_message::beat);
}

COHORT_TCP_INLINE void tcp_sender::use_ring() {
  if (memory_.is_offered()) add_control({.is = frame_header::kind::to_ring}, {}, control_message::beat);
}

COHORT_TCP_INLINE void tcp_sender::confirm_ring() {
  add_control({.is = frame_header::kind::maps_ring}, {}, control_message::beat);
}

COHORT_TCP_INLINE void tcp_sender::wake() {
  if (!memory_.is_used()) return add_control({.is = frame_header::kind::wake}, {}, control_message::beat);
  static constexpr std::byte any{0};
  stream_.send(std::span(&any, 1));  // if the socket is full, other bytes wake the process
}

COHORT_TCP_INLINE bool tcp_sender::is_sending(control_message what) const {
  return failure_.empty()
         && (awaits_[static_cast<std::size_t>(what)]
             || std::ranges::find(control_kinds_, what) != control_kinds_.end());
}

/// Copies a header and the begin of its frame, so that small messages need one call of the system.
COHORT_TCP_INLINE void tcp_sender::stage(frame_header header, std::span<std::byte const> payload) {
  auto const begin = header.encoded();
  std::size_t const copied =
      memory_.is_used() ? 0 : std::min(payload.size(), most_copied - frame_header::bytes);
  staged_.insert(staged_.end(), begin.begin(), begin.end());
  staged_.insert(staged_.end(), payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(copied));
  direct_ = payload.subspan(copied);
}

COHORT_TCP_INLINE bool tcp_sender::next_frame() {
  staged_.clear();
  begin_ = 0;
  ends_message_ = false;
  if (!control_.empty()) {
    staged_ = std::move(control_.front());
    control_.pop_front();
    control_kinds_.pop_front();
    goes_to_ring_ = staged_[0] == std::byte(frame_header::kind::to_ring);
    return true;
  }
  if (messages_.empty()) return false;
  message& one = messages_.front();
  std::uint64_t const rest = one.data.size() - one.framed;
  auto const bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(rest, frame_header::most_in_frame));
  bool const begins = one.framed == 0;
  frame_header const header{.is = begins ? frame_header::kind::first : frame_header::kind::more,
                            .on = one.on,
                            .tag = one.tag,
                            .message_bytes = begins ? one.data.size() : 0,
                            .frame_bytes = bytes};
  stage(header, one.data.subspan(one.framed, bytes));
  one.framed += bytes;
  ends_message_ = one.framed == one.data.size();
  return true;
}

COHORT_TCP_INLINE bool tcp_sender::send_bytes() {
  bool const from_staged = begin_ < staged_.size();
  std::span<std::byte const> const bytes =
      from_staged ? std::span<std::byte const>(staged_).subspan(begin_) : direct_;
  std::optional<std::size_t> moved;
  if (memory_.is_used()) {
    moved = memory_.write(bytes);
    if (*moved > 0 && memory_.must_wake_reader()) wake();
  } else {
    moved = stream_.send(bytes);
  }
  if (!moved) {
    failure_ = stream_.failure().empty() ? "the connection was closed" : stream_.failure();
    return false;
  }
  if (from_staged)
    begin_ += *moved;
  else
    direct_ = direct_.subspan(*moved);
  return *moved > 0;
}

COHORT_TCP_INLINE bool tcp_sender::advance(std::function<void(ticket)> const& sent) {
  if (!opened_ || !failure_.empty() || !is_ready()) return false;
  for (bool moved = false;;) {
    while (begin_ < staged_.size() || !direct_.empty()) {
      if (!send_bytes()) return moved;
      moved = true;
    }
    if (std::exchange(goes_to_ring_, false)) memory_.begin();
    if (std::exchange(ends_message_, false)) {
      ticket const ended = messages_.front().its;
      messages_.pop_front();
      sent(ended);
    }
    if (!next_frame()) return moved;
  }
}

COHORT_TCP_INLINE void tcp_sender::abandon() {
  kept_.assign(direct_.begin(), direct_.end());
  direct_ = kept_;
  ends_message_ = false;
  messages_.clear();
}

}  // namespace cohort::detail
