// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp/detail/tcp_receiver.hpp>
#include <cstring>
#include <utility>

namespace cohort::detail {

void tcp_receiver::connect(secure_stream stream) {
  stream_.emplace(std::move(stream));
  staged_.resize(staging);
}

void tcp_receiver::claim(message& one, wanted const& by) {
  one.its = by.its;
  one.discards = by.into.bytes() != one.bytes;
  if (one.discards) return;
  one.into = by.into;
  one.how = by.how;
  if (one.how) {
    fold_.resize(folded);
    std::size_t const size = bytes_of(by.into.type), whole = one.filled / size;
    combine(isa_, elements(by.into.data, by.into.type, whole), one.kept.data(), *one.how);
    std::size_t const rest = one.filled - whole * size;  // 0, unless the message is arriving
    if (rest > 0) {
      std::memcpy(fold_.data(), one.kept.data() + whole * size, rest);
      fold_bytes_ = rest;
    }
  } else if (one.filled > 0) {
    std::memcpy(one.into.data, one.kept.data(), one.filled);
  }
  one.kept = {};
}

void tcp_receiver::receive(ticket one, channel on, std::uint32_t tag, elements into,
                           std::optional<reduction> how, events& of) {
  wanted const by{.its = one, .on = on, .tag = tag, .into = into, .how = how};
  auto const found = std::ranges::find_if(
      messages_, [&](message const& m) { return m.its == 0 && !m.discards && m.on == on && m.tag == tag; });
  if (found == messages_.end()) {
    wanted_.push_back(by);
    return;
  }
  kept_bytes_ -= sizeof(message) + found->kept.size();
  claim(*found, by);
  if (found != arriving_ || found->filled == found->bytes) end_message(found, of);
}

void tcp_receiver::end_message(std::list<message>::iterator one, events& of) {
  message const ended = std::move(*one);
  if (one == arriving_) arriving_ = messages_.end();
  messages_.erase(one);
  if (ended.its != 0) of.received(ended.its, ended.bytes);
}

std::optional<std::uint64_t> tcp_receiver::waiting(channel on, std::uint32_t tag) const {
  for (message const& one : messages_)
    if (one.its == 0 && !one.discards && one.on == on && one.tag == tag) return one.bytes;
  return std::nullopt;
}

bool tcp_receiver::advance(events& of) {
  bool const open = advance_stream(of);
  advance_ring(of);  // even if the connection is closed: the ring may contain last messages
  return open;
}

bool tcp_receiver::advance_ring(events& of) {
  bool moved = false;
  for (std::size_t received = 0; memory_.is_used() && received < most_per_call;) {
    std::span<std::byte const> const bytes = memory_.readable();
    if (bytes.empty()) break;
    moved = true;
    std::size_t const now = std::min(bytes.size(), most_at_once);
    use(bytes.first(now), of);
    memory_.consume(now);
    received += now;
  }
  return moved;
}

bool tcp_receiver::advance_stream(events& of) {
  has_more_ = false;
  for (std::size_t received = 0;;) {
    if (received >= most_per_call) {
      has_more_ = true;
      return true;
    }
    // A large part of a message is received directly into its destination, without a copy.
    std::span<std::byte> direct{};
    if (!memory_.is_used() && frame_left_ >= least_direct && frame_ && frame_->is <= frame_header::kind::more)
      direct = destination();
    std::optional<std::size_t> const moved =
        stream_->receive(direct.empty() ? std::span<std::byte>(staged_) : direct);
    if (!moved) {
      failure_ = stream_->failure();
      return false;
    }
    if (*moved == 0) return true;
    begun_ = true;
    received += *moved;
    if (memory_.is_used()) continue;  // bytes of the connection serve only to wake this process
    if (direct.empty())
      use(std::span<std::byte const>(staged_).first(*moved), of);
    else
      filled(*moved, of);
  }
}

void tcp_receiver::use(std::span<std::byte const> bytes, events& of) {
  bool const from_ring = memory_.is_used();
  while (!bytes.empty() && memory_.is_used() == from_ring) {  // bytes after to_ring serve only to wake
    if (!frame_) {
      std::size_t const taken = std::min(bytes.size(), frame_header::bytes - head_.size());
      head_.insert(head_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken));
      bytes = bytes.subspan(taken);
      if (head_.size() == frame_header::bytes) begin_frame(of);
      continue;
    }
    std::size_t const taken = std::min(bytes.size(), frame_left_);
    if (frame_->is >= frame_header::kind::control) {
      control_.insert(control_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken));
      frame_left_ -= taken;
      if (frame_left_ == 0) end_frame(of);
    } else {
      take(bytes.first(taken).subspan(combine_in_place(bytes.first(taken), of)), of);
    }
    bytes = bytes.subspan(taken);
  }
}

void tcp_receiver::begin_frame(events& of) {
  frame_ = frame_header::decoded(std::span<std::byte const>(head_).first<frame_header::bytes>());
  head_.clear();
  frame_left_ = frame_->frame_bytes;
  control_.clear();
  auto const refuse = [](char const* expected, clause got) {
    throw communicator_error({.what = "a message is damaged", .expected = expected, .got = std::move(got)});
  };
  if (frame_->is == frame_header::kind::first) {
    if (arriving_ != messages_.end())
      refuse("the rest of a message before the next one", {frame_left_, " bytes"});
    begin_message();
  } else if (frame_->is == frame_header::kind::more) {
    if (arriving_ == messages_.end() || frame_left_ > arriving_->bytes - arriving_->filled)
      refuse("a part of a message", {frame_left_, " bytes"});
  }
  if (frame_left_ == 0) end_frame(of);
}

void tcp_receiver::deliver(channel on, std::uint32_t tag, std::span<std::byte const> data, events& of) {
  frame_ = frame_header{.on = on, .tag = tag, .message_bytes = data.size()};
  begin_message();
  frame_left_ = data.size();
  data.empty() ? end_frame(of) : take(data, of);
}

void tcp_receiver::take(std::span<std::byte const> bytes, events& of) {
  while (!bytes.empty()) {
    std::span<std::byte> const to = destination();
    std::size_t const now = to.empty() ? bytes.size() : std::min(to.size(), bytes.size());
    if (!to.empty()) std::memcpy(to.data(), bytes.data(), now);
    bytes = bytes.subspan(now);
    filled(now, of);
  }
}

void tcp_receiver::begin_message() {
  fold_bytes_ = 0;
  message one{.on = frame_->on, .tag = frame_->tag, .bytes = frame_->message_bytes};
  auto const found =
      std::ranges::find_if(wanted_, [&](wanted const& w) { return w.on == one.on && w.tag == one.tag; });
  if (found != wanted_.end()) {
    claim(one, *found);
    wanted_.erase(found);
  } else {
    kept_bytes_ += sizeof(message);
  }
  arriving_ = messages_.insert(messages_.end(), std::move(one));
}

std::span<std::byte> tcp_receiver::destination() {
  message& one = *arriving_;
  if (one.discards) return {};
  if (one.how)
    return std::span(fold_).subspan(fold_bytes_, std::min(frame_left_, fold_.size() - fold_bytes_));
  if (one.its != 0)
    return {one.into.data + one.filled, std::min<std::size_t>(frame_left_, one.into.bytes() - one.filled)};
  if (std::uint64_t const size = one.filled + frame_left_; one.kept.size() < size) {
    kept_bytes_ += size - one.kept.size();
    one.kept.resize(size);
  }
  return std::span(one.kept).subspan(one.filled, frame_left_);
}

std::size_t tcp_receiver::combine_in_place(std::span<std::byte const> bytes, events& of) {
  message& one = *arriving_;
  if (!one.how || one.discards || fold_bytes_ > 0) return 0;
  std::size_t const size = bytes_of(one.into.type), whole = bytes.size() / size;
  if (whole == 0 || reinterpret_cast<std::uintptr_t>(bytes.data()) % size != 0) return 0;
  combine(isa_, elements(one.into.data + one.filled, one.into.type, whole), bytes.data(), *one.how);
  one.filled += whole * size;
  message_bytes_ += whole * size;
  frame_left_ -= whole * size;
  if (frame_left_ == 0) end_frame(of);
  return whole * size;
}

void tcp_receiver::fold(message& one) {
  std::size_t const size = bytes_of(one.into.type), whole = fold_bytes_ / size;
  combine(isa_, elements(one.into.data + one.filled - fold_bytes_, one.into.type, whole), fold_.data(),
          *one.how);
  fold_bytes_ -= whole * size;
  std::memmove(fold_.data(), fold_.data() + whole * size, fold_bytes_);
}

void tcp_receiver::filled(std::size_t bytes, events& of) {
  message& one = *arriving_;
  one.filled += bytes;
  message_bytes_ += bytes;
  frame_left_ -= bytes;
  if (one.how && !one.discards) {
    fold_bytes_ += bytes;
    if (fold_bytes_ == fold_.size() || frame_left_ == 0) fold(one);
  }
  if (frame_left_ == 0) end_frame(of);
}

void tcp_receiver::end_frame(events& of) {
  frame_header const ended = *std::exchange(frame_, std::nullopt);
  if (ended.is == frame_header::kind::control) return of.control(ended.what, control_);
  if (ended.is == frame_header::kind::acknowledgement) return of.acknowledged(ended.what);
  if (ended.is == frame_header::kind::to_ring) {
    if (!memory_.begin())
      throw communicator_error(
          {.what = "a message is damaged", .expected = "a ring that is mapped", .got = "none"});
    return;
  }
  if (ended.is > frame_header::kind::acknowledgement) return of.other(ended.is, control_);
  if (arriving_->filled < arriving_->bytes) return;
  auto const one = std::exchange(arriving_, messages_.end());
  if (one->its != 0 || one->discards) end_message(one, of);  // otherwise the message waits for its receive
}

void tcp_receiver::abandon() {
  wanted_.clear();
  kept_bytes_ = 0;
  for (message& one : messages_) {
    one.its = 0;
    one.discards = true;
    one.into = {};
    one.kept = {};
  }
  std::erase_if(messages_,
                [&](message const& one) { return arriving_ == messages_.end() || &one != &*arriving_; });
}

}  // namespace cohort::detail
