// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cohort/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp/detail/tcp_sender.hpp>
#include <cstring>
#include <utility>

namespace cohort::detail {

tcp_sender::tcp_sender(std::vector<endpoint> addresses, greeting const& hello, tls_identity const& identity,
                       std::chrono::milliseconds time_to_connect, socket_api& by)
    : by_(&by),
      addresses_(std::move(addresses)),
      hello_(hello.encoded()),
      identity_(identity),
      time_to_connect_(time_to_connect) {
  if (addresses_.empty()) failure_ = "it has no address on a network of this host";
}

void tcp_sender::open() {
  if (std::exchange(opened_, true)) return;
  limit_ = by_->time().now() + time_to_connect_;
  connect();
}

bool tcp_sender::connect() {
  while (!ready_ && failure_.empty()) {
    if (!stream_.is_open()) {
      if (by_->time().now() < next_attempt_) return false;
      begin_attempt();
      continue;
    }
    secure_stream::progress const now = continue_attempt();
    bool const late = now == secure_stream::progress::waits && by_->time().now() >= attempt_limit_;
    if (now == secure_stream::progress::waits && !late) return false;
    ready_ = now == secure_stream::progress::ready;
    if (late)
      end_attempt("no answer", false);
    else if (!ready_)
      end_attempt(stream_.failure().empty() ? "the process at this address has not confirmed the connection"
                                            : stream_.failure(),
                  stream_.is_refused());
  }
  return ready_;
}

void tcp_sender::begin_attempt() try {
  ++attempts_;
  greeted_ = 0;
  attempt_limit_ = std::min(by_->time().now() + time_of_attempt_, limit_);
  stream_ = secure_stream(tcp_socket::connecting(addresses_[address_], *by_), secure_stream::role::client,
                          identity_);
} catch (socket_error const& problem) {
  lacks_descriptor_ = is_descriptor_shortage(problem.reason);
  if (lacks_descriptor_)
    failure_ = problem.what();
  else
    end_attempt(std::strerror(problem.reason), problem.reason == ECONNREFUSED);
}

secure_stream::progress tcp_sender::continue_attempt() {
  using progress = secure_stream::progress;
  if (progress const now = stream_.advance(); now != progress::ready) return now;
  while (greeted_ < hello_.size()) {
    std::optional<std::size_t> const moved =
        stream_.send(std::span<std::byte const>(hello_).subspan(greeted_));
    if (!moved) return progress::failed;
    if (*moved == 0) return progress::waits;
    greeted_ += *moved;
  }
  std::byte answer{};
  std::optional<std::size_t> const moved = stream_.receive(std::span(&answer, 1));
  if (!moved) return progress::failed;
  if (*moved == 0) return progress::waits;
  return answer == greeting::welcome ? progress::ready : progress::failed;
}

void tcp_sender::end_attempt(std::string const& why, bool refused) {
  auto const now = by_->time().now();
  stream_ = {};
  refused_ += refused;
  bool const is_last = address_ + 1 == addresses_.size(), gives_up = is_last && refused_ == addresses_.size();
  if (gives_up || now >= limit_)
    failure_ = text_of(
        {"connecting to ", addresses_[address_].text(), ": ", why,
         gives_up ? std::string()
                  : text_of({", in attempt ", attempts_, " after ", time_to_connect_.count(), " ms"})});
  address_ = is_last ? 0 : address_ + 1;
  if (!is_last) return;
  refused_ = 0;
  time_of_attempt_ *= 2;
  next_attempt_ = now + pause_;
  pause_ = std::min(2 * pause_, longest_pause);
}

void tcp_sender::send(ticket one, channel on, std::uint32_t tag, std::span<std::byte const> data) {
  open();
  messages_.push_back({.its = one, .on = on, .tag = tag, .data = data});
}

void tcp_sender::add_control(frame_header header, std::span<std::byte const> payload,
                             control_message counts_as) {
  open();
  header.frame_bytes = static_cast<std::uint32_t>(payload.size());
  auto const begin = header.encoded();
  std::vector<std::byte>& made = control_.emplace_back(begin.begin(), begin.end());
  made.insert(made.end(), payload.begin(), payload.end());
  control_kinds_.push_back(counts_as);
}

void tcp_sender::send_control(control_message what, std::span<std::byte const> bytes) {
  add_control({.is = frame_header::kind::control, .what = what}, bytes, what);
  awaits_[static_cast<std::size_t>(what)] =
      what == control_message::failure || what == control_message::farewell;
}

void tcp_sender::acknowledge(control_message what) {
  add_control({.is = frame_header::kind::acknowledgement, .what = what}, {}, control_message::beat);
}

void tcp_sender::offer_ring() {
  if (std::optional<ring_location> const where = memory_.offer())
    add_control({.is = frame_header::kind::ring}, where->encoded(), control_message::beat);
}

void tcp_sender::use_ring() {
  if (memory_.is_offered()) add_control({.is = frame_header::kind::to_ring}, {}, control_message::beat);
}

void tcp_sender::confirm_ring() {
  add_control({.is = frame_header::kind::maps_ring}, {}, control_message::beat);
}

void tcp_sender::hold_other(bool holds) {
  add_control({.is = holds ? frame_header::kind::hold : frame_header::kind::release}, {},
              control_message::beat);
}

void tcp_sender::wake() {
  if (!memory_.is_used()) return add_control({.is = frame_header::kind::wake}, {}, control_message::beat);
  static constexpr std::byte any{0};
  stream_.send(std::span(&any, 1));  // if the socket is full, its pending bytes wake the process
}

bool tcp_sender::is_sending(control_message what) const {
  return failure_.empty()
         && (awaits_[static_cast<std::size_t>(what)]
             || std::ranges::find(control_kinds_, what) != control_kinds_.end());
}

/// Copies a header and the first bytes of its frame, so that a small message needs one system call.
void tcp_sender::stage(frame_header header, std::span<std::byte const> payload) {
  auto const begin = header.encoded();
  std::size_t const copied =
      memory_.is_used() ? 0 : std::min(payload.size(), most_copied - frame_header::bytes);
  staged_.insert(staged_.end(), begin.begin(), begin.end());
  staged_.insert(staged_.end(), payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(copied));
  direct_ = payload.subspan(copied);
}

bool tcp_sender::next_frame() {
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
  if (messages_.empty() || holds_) return false;
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

bool tcp_sender::send_bytes() {
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

bool tcp_sender::advance(std::function<void(ticket)> const& sent) {
  if (!opened_ || !failure_.empty() || !connect()) return false;
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

void tcp_sender::abandon() {
  kept_.assign(direct_.begin(), direct_.end());
  direct_ = kept_;
  ends_message_ = false;
  messages_.clear();
}

}  // namespace cohort::detail
