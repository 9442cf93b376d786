// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp/detail/acceptor.hpp>
#include <utility>

namespace cohort::detail {

acceptor::acceptor(std::vector<tcp_socket> listening, tls_identity identity, sink log, socket_api& by)
    : listening_(std::move(listening)),
      identity_(std::move(identity)),
      log_(std::move(log)),
      time_(&by.time()),
      events_(by.events()),
      last_(time_->now()) {
  for (tcp_socket const& one : listening_) events_->watch(one.descriptor(), listening_event);
}

void acceptor::advance(double share) {
  auto const seconds = [](clock::duration time) { return std::chrono::duration<double>(time).count(); };
  auto const begin = time_->now();
  allowance_ = std::min(burst, allowance_ + share * seconds(begin - std::exchange(last_, begin)));
  is_throttled_ = is_throttled_ && allowance_ < shortest_work;
  if (!is_throttled_) {
    std::uint64_t ids[most_in_a_row];
    bool accepts = false;
    for (std::uint64_t const id : events_->ready(ids)) {
      if (id == listening_event) {
        accepts = true;
        continue;
      }
      auto const found = std::ranges::find(unknown_, id, &unknown::id);
      if (found != unknown_.end()) advance(found);
    }
    if (accepts)
      for (tcp_socket& at : listening_) accept(at);
  }
  close_late(begin);
  allowance_ -= seconds(time_->now() - begin);
  is_throttled_ = is_throttled_ || allowance_ < 0;
}

void acceptor::accept(tcp_socket& at) {
  for (int k = 0; k < most_in_a_row; ++k) {
    endpoint from;
    std::optional<tcp_socket> made = at.accept(&from);
    if (!made && tcp_socket::has_no_descriptor()) {
      if (close_one("this process needs its descriptor")) continue;
      allowance_ = 0;  // tries again later
      if (log_ && !std::exchange(lacks_descriptor_, true))
        log_(text_of(
            {name_, " cannot accept a connection: expected ", expected_descriptor(), "; it tries again"}));
    }
    if (!made) return;
    if (unknown_.size() == most_unknown) close_one("there are too many connections of unknown processes");
    events_->watch(made->descriptor(), ++last_id_);
    bool const has_sent = made->has_bytes();
    unknown_.push_back({.id = last_id_,
                        .socket = *std::move(made),
                        .accepted = time_->now(),
                        .from = from,
                        .has_sent = has_sent});
    if (has_sent) advance(std::prev(unknown_.end()));
  }
}

bool acceptor::close_one(std::string const& why) {
  auto const found = first_to_close(unknown_, time_->now(), [](unknown const&) { return true; });
  if (found == unknown_.end()) return false;
  refuse(found->from, why);
  unknown_.erase(found);
  return true;
}

void acceptor::close_late(clock::time_point now) {
  while (!unknown_.empty() && now >= unknown_.front().accepted + time_to_greet) {
    refuse(unknown_.front().from, "it has sent no greeting within 10 s");
    unknown_.pop_front();
  }
}

void acceptor::advance(connection at) {
  unknown& one = *at;
  auto const refused = [&](std::string const& why) {
    refuse(one.from, why);
    unknown_.erase(at);
  };
  one.has_sent = true;
  if (!one.stream) one.stream.emplace(std::move(one.socket), secure_stream::role::server, identity_);
  secure_stream::progress const now = one.stream->advance();
  if (now == secure_stream::progress::failed) return refused(one.stream->failure());
  if (now == secure_stream::progress::waits) return;
  while (one.have < one.bytes.size()) {
    std::optional<std::size_t> const got = one.stream->receive(std::span(one.bytes).subspan(one.have));
    if (!got)
      return refused(one.stream->failure().empty() ? "it has closed the connection" : one.stream->failure());
    if (*got == 0) return;
    one.have += *got;
  }
  events_->ignore(one.stream->socket().descriptor());
  if (greeted_.size() == most_greeted) greeted_.pop_front();
  greeted_.push_back({*std::move(one.stream), one.bytes, one.from});
  unknown_.erase(at);
}

std::optional<greeted_connection> acceptor::next() {
  if (greeted_.empty()) return std::nullopt;
  std::optional<greeted_connection> made(std::move(greeted_.front()));
  greeted_.pop_front();
  return made;
}

void acceptor::refuse(endpoint const& from, std::string const& why) {
  ++refused_;
  if (!log_) return;
  if (refused_ <= most_lines) {
    log_(text_of({name_, " has refused a connection from ", from.text(), ": ", why,
                  refused_ == most_lines ? "; further ones are only counted" : ""}));
  } else if (refused_ == next_count_) {
    next_count_ *= 10;
    log_(text_of({name_, " has refused ", refused_, " connections"}));
  }
}

}  // namespace cohort::detail
