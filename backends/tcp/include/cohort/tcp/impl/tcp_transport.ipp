// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cerrno>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp/detail/tcp_transport.hpp>
#include <utility>

namespace cohort::detail {

COHORT_TCP_INLINE tcp_transport::monitor::monitor(tcp_transport& over)
    : rank_monitor(over.rank(), over.size(), over.settings_.heartbeat, over.time_), over_(over) {}

COHORT_TCP_INLINE void tcp_transport::monitor::send(int to, control_message what,
                                                    std::span<std::byte const> bytes) {
  other_rank& one = over_.at(to);
  one.sender.send_control(what, bytes);
  over_.send_to(one);
}

COHORT_TCP_INLINE bool tcp_transport::monitor::is_sending(int to, control_message what) const {
  return to != rank() && !over_.at(to).closed && over_.at(to).sender.is_sending(what);
}

COHORT_TCP_INLINE bool tcp_transport::monitor::is_sending() const {
  for (int r = 0; r < size(); ++r) {
    if (r == rank()) continue;
    tcp_sender const& to = over_.at(r).sender;
    if (over_.at(r).closed || !to.failure().empty()) continue;
    if (!to.is_flushed() || is_sending(r, control_message::farewell)
        || is_sending(r, control_message::failure))
      return true;
  }
  return false;
}

COHORT_TCP_INLINE bool tcp_transport::monitor::is_linked(int r) const {
  return over_.at(r).sender.is_open() || over_.at(r).receiver.is_connected();
}

COHORT_TCP_INLINE void tcp_transport::monitor::ask(int r, int silent) {
  auto const patience = over_.settings_.heartbeat / attempts_per_heartbeat;
  over_.at(r).question.ask(over_.members_.ranks[static_cast<std::size_t>(r)],
                           over_.greeting_for(r, static_cast<std::uint32_t>(silent) + 1), over_.identity_,
                           patience, over_.by_);
}

COHORT_TCP_INLINE greeting tcp_transport::greeting_for(int r, std::uint32_t question) const {
  return {.token = members_.token,
          .from = static_cast<std::uint32_t>(rank()),
          .to = static_cast<std::uint32_t>(r),
          .size = static_cast<std::uint32_t>(size()),
          .question = question};
}

COHORT_TCP_INLINE void tcp_transport::answer(int from, int silent, unknown& one) {
  monitor_.asked(from, silent);
  events_->ignore(one.stream.socket().descriptor());
  answers_.emplace_back(std::move(one.stream), monitor_.progress_table(), one.limit);
}

COHORT_TCP_INLINE void tcp_transport::advance_questions() {
  for (std::unique_ptr<other_rank> const& one : peers_)
    if (one->question.is_pending())
      if (auto const table = one->question.advance())
        monitor_.handle(one->rank, control_message::beat, *table);
  if (!answers_.empty())
    std::erase_if(answers_, [now = time_.now()](tcp_answer& one) { return one.advance(now); });
}

COHORT_TCP_INLINE void tcp_transport::other_rank::received(ticket one, std::uint64_t bytes) {
  operation& its = over.operations_[one - 1];
  its.got = bytes;
  its.ended = true;
}

COHORT_TCP_INLINE void tcp_transport::other_rank::control(control_message what,
                                                          std::span<std::byte const> bytes) {
  over.monitor_.handle(rank, what, bytes);
  if (what == control_message::failure || what == control_message::farewell) sender.acknowledge(what);
}

COHORT_TCP_INLINE void tcp_transport::other_rank::other(frame_header::kind what,
                                                        std::span<std::byte const> bytes) {
  if (what == frame_header::kind::maps_ring) return sender.use_ring();
  if (what != frame_header::kind::ring) return;
  if (bytes.size() != ring_location::bytes)
    throw communicator_error({.what = "a message is damaged",
                              .expected = {ring_location::bytes, " bytes"},
                              .got = {bytes.size()}});
  if (!receiver.memory().map(ring_location::decoded(bytes.first<ring_location::bytes>()))) return;
  over.has_rings_ = true;
  sender.confirm_ring();
}

COHORT_TCP_INLINE tcp_transport::tcp_transport(std::vector<tcp_socket> listening, tcp_membership members,
                                               tls_identity identity, communicator_settings const& settings,
                                               std::shared_ptr<std::optional<failure_report>> last_trouble,
                                               socket_api& by)
    : by_(by),
      time_(by.time()),
      members_(std::move(members)),
      identity_(std::move(identity)),
      settings_(settings),
      listening_(std::move(listening)),
      events_(by.events()),
      may_accept_(burst_per_rank * size() + burst),
      may_accept_at_(time_.now()),
      last_trouble_(std::move(last_trouble)),
      monitor_(*this) {
  for (int r = 0; r < size(); ++r) {
    greeting const hello = greeting_for(r, 0);
    peers_.push_back(
        std::make_unique<other_rank>(*this, r,
                                     tcp_sender(members_.ranks[static_cast<std::size_t>(r)], hello, identity_,
                                                std::max(least_time_to_connect, settings_.heartbeat), by_)));
  }
  for (tcp_socket const& one : listening_) events_->watch(one.descriptor(), listening_event);
}

COHORT_TCP_INLINE void tcp_transport::offer_ring(other_rank& one) {
  if (std::exchange(one.offered, true)) return;
  auto const host_of = [&](int r) { return members_.hosts[static_cast<std::size_t>(r)]; };
  if (host_of(one.rank) == host_of(rank())) one.sender.offer_ring();
}

COHORT_TCP_INLINE tcp_transport::~tcp_transport() {
  monitor_.wait_for_farewells(settings_.deadline);
  if (last_trouble_) *last_trouble_ = monitor_.trouble();
}

COHORT_TCP_INLINE tcp_transport::ticket tcp_transport::begin(operation one) {
  if (unused_.empty()) {
    operations_.push_back(one);
    return operations_.size();
  }
  ticket const made = unused_.back();
  unused_.pop_back();
  operations_[made - 1] = one;
  return made;
}

COHORT_TCP_INLINE tcp_transport::ticket tcp_transport::send(int to, channel on, std::uint32_t tag,
                                                            std::span<std::byte const> data) {
  ticket const made = begin({.tag = tag});
  other_rank& one = at(to);
  if (to == rank()) {
    one.receiver.deliver(on, tag, data, one);
    operations_[made - 1].ended = true;
    return made;
  }
  offer_ring(one);
  one.sender.send(made, on, tag, data);
  send_to(one);
  return made;
}

COHORT_TCP_INLINE tcp_transport::ticket tcp_transport::receive(int from, channel on, std::uint32_t tag,
                                                               std::span<std::byte> data) {
  ticket const made = begin({.from = from, .tag = tag, .expected = data.size()});
  at(from).receiver.receive(made, on, tag, {data.data(), element_type::u8, data.size()}, std::nullopt,
                            at(from));
  return made;
}

COHORT_TCP_INLINE tcp_transport::ticket tcp_transport::receive_combining(int from, channel on,
                                                                         std::uint32_t tag, elements into,
                                                                         reduction how) {
  ticket const made = begin({.from = from, .tag = tag, .expected = into.bytes()});
  at(from).receiver.receive(made, on, tag, into, how, at(from));
  return made;
}

COHORT_TCP_INLINE bool tcp_transport::done(ticket one) {
  if (one == 0) return true;
  operation& its = operations_[one - 1];
  if (!its.ended) return false;
  operation const ended = std::exchange(its, {});
  unused_.push_back(one);
  if (ended.from >= 0 && ended.got != ended.expected)
    throw communicator_error({.what = {"a message from rank ", ended.from, " has the wrong size"},
                              .where = {"tag ", ended.tag},
                              .expected = {ended.expected, " bytes"},
                              .got = {ended.got, " bytes"}});
  return true;
}

COHORT_TCP_INLINE std::optional<tcp_transport::waiting> tcp_transport::probe(int from, channel on,
                                                                             std::uint32_t tag) {
  for (int r = from < 0 ? 0 : from; r < (from < 0 ? size() : from + 1); ++r)
    if (std::optional<std::uint64_t> const bytes = at(r).receiver.waiting(on, tag))
      return waiting{r, static_cast<std::size_t>(*bytes)};
  return std::nullopt;
}

COHORT_TCP_INLINE void tcp_transport::make_progress() {
  monitor_.guard([this] { exchange_bytes(); });
  monitor_.make_progress();
}

COHORT_TCP_INLINE void tcp_transport::wait_for_event(std::chrono::microseconds longest) {
  sleeps_ = true;
  if (!woken_.exchange(false) && announce_sleep(true)) {
    watch_senders();
    auto const limit = std::chrono::ceil<std::chrono::milliseconds>(longest);
    events_->wait(limit);
  }
  announce_sleep(false);
  polls_ = -1U;  // the next poll asks the system
  sleeps_ = false;
  woken_ = false;
}

COHORT_TCP_INLINE bool tcp_transport::announce_sleep(bool sleeps) {
  bool may_sleep = true;
  for (std::unique_ptr<other_rank> const& one : peers_) {
    if (one->closed) continue;
    bool const nothing_to_read = one->receiver.sleeps(sleeps);
    bool const nothing_to_write = one->sender.sleeps(sleeps);
    may_sleep = may_sleep && nothing_to_read && nothing_to_write;
  }
  return may_sleep;
}

COHORT_TCP_INLINE void tcp_transport::wake() noexcept {
  woken_ = true;
  if (sleeps_) events_->wake();
}

COHORT_TCP_INLINE void tcp_transport::watch_senders() {
  for (std::unique_ptr<other_rank> const& one : peers_) {
    int const wanted = one->sender.waits_for_socket() ? one->sender.descriptor() : -1;
    auto const wanted_for =
        one->sender.waits_for_bytes() ? socket_events::interest::readable : socket_events::interest::writable;
    // Closing a socket has ended its events; another connection may have its descriptor now.
    if (std::exchange(one->attempts, one->sender.attempts()) != one->sender.attempts()) one->watched = -1;
    if (wanted == one->watched && wanted_for == one->watched_for) continue;
    if (one->watched >= 0) events_->ignore(one->watched);
    one->watched = wanted;
    one->watched_for = wanted_for;
    if (wanted >= 0) events_->watch(wanted, sender_event, wanted_for);
  }
}

COHORT_TCP_INLINE void tcp_transport::exchange_bytes() {
  constexpr unsigned polls_per_call = 16;  // of the system, while the messages are in rings
  if (!has_rings_ || ++polls_ % polls_per_call == 0) poll_sockets();
  for (std::unique_ptr<other_rank> const& one : peers_) {
    if (one->receiver.has_more() && !one->closed) receive_from(*one);
    read_ring(*one);
    if (one->sender.wants_to_write()) send_to(*one);
  }
  advance_questions();
}

COHORT_TCP_INLINE void tcp_transport::poll_sockets() {
  std::uint64_t ids[64];
  for (std::uint64_t const id : events_->ready(ids))
    if (id < static_cast<std::uint64_t>(size())) {
      ++moves_;
      receive_from(at(static_cast<int>(id)));
    } else if (id == listening_event) {
      accept_connections();
    } else if (id != sender_event) {  // exchange_bytes advances senders
      continue_unknown(id);
    }
  while (!unknown_.empty() && time_.now() >= unknown_.front().limit) {
    refuse(unknown_.front(), "it has sent no greeting within 10 s");
    unknown_.pop_front();
  }
  limit_rate();
}

COHORT_TCP_INLINE void tcp_transport::accept_connections() {
  for (tcp_socket& at : listening_)
    while (may_accept_ >= 1) {
      endpoint peer;
      std::optional<tcp_socket> made = at.accept(&peer);
      if (!made) {
        if (tcp_socket::has_no_descriptor())
          may_accept_ = 0;  // tries again later, as after too many connections
        break;
      }
      may_accept_ -= 1;
      std::string const from = peer.text();
      if (unknown_.size() >= most_unknown) {
        refuse(unknown_.front(), "there are too many connections of unknown processes");
        unknown_.pop_front();
      }
      events_->watch(made->descriptor(), next_unknown_);
      unknown_.push_back({.id = next_unknown_++,
                          .stream = secure_stream(*std::move(made), secure_stream::role::server, identity_),
                          .limit = time_.now() + time_to_greet,
                          .from = from});
    }
}

COHORT_TCP_INLINE void tcp_transport::limit_rate() {
  auto const now = time_.now();
  double const seconds = std::chrono::duration<double>(now - std::exchange(may_accept_at_, now)).count();
  may_accept_ = std::min(burst_per_rank * size() + burst, may_accept_ + seconds * accepted_per_second);
  bool const listens = may_accept_ >= 1;
  if (listens == listens_) return;
  listens_ = listens;
  for (tcp_socket const& one : listening_)
    if (listens)
      events_->watch(one.descriptor(), listening_event);
    else
      events_->ignore(one.descriptor());
}

COHORT_TCP_INLINE void tcp_transport::continue_unknown(std::uint64_t id) {
  auto const found = std::ranges::find(unknown_, id, &unknown::id);
  if (found != unknown_.end() && greet(*found)) unknown_.erase(found);
}

COHORT_TCP_INLINE bool tcp_transport::greet(unknown& one) {
  auto const refused = [&](std::string const& why) {
    refuse(one, why);
    return true;
  };
  secure_stream::progress const now = one.stream.advance();
  if (now == secure_stream::progress::failed) return refused(one.stream.failure());
  if (now == secure_stream::progress::ready) {
    std::optional<std::size_t> const got = one.stream.receive(std::span(one.bytes).subspan(one.have));
    if (!got)
      return refused(one.stream.failure().empty() ? "it has closed the connection" : one.stream.failure());
    one.have += *got;
    if (one.have == one.bytes.size()) {
      greeting const expected{.token = members_.token,
                              .to = static_cast<std::uint32_t>(rank()),
                              .size = static_cast<std::uint32_t>(size())};
      int from = -1;
      std::string const why = greeting::refusal(one.bytes, expected, from);
      if (!why.empty()) return refused(why);
      if (std::uint32_t const question = greeting::question_of(one.bytes); question > 0) {
        answer(from, static_cast<int>(question) - 1, one);
        return true;
      }
      if (at(from).receiver.is_connected()) return refused(text_of({"rank ", from, " is connected already"}));
      events_->watch(one.stream.socket().descriptor(), static_cast<std::uint64_t>(from));
      at(from).receiver.connect(std::move(one.stream));
      receive_from(at(from));  // TLS may have received more than the greeting
      return true;
    }
  }
  return false;
}

COHORT_TCP_INLINE void tcp_transport::refuse(unknown const& one, std::string const& why) {
  ++refused_;
  if (!settings_.log) return;
  if (refused_ <= most_lines) {
    settings_.log(text_of({"rank ", rank(), " has refused a connection from ", one.from, ": ", why,
                           refused_ == most_lines ? "; further ones are only counted" : ""}));
  } else if (refused_ == next_count_) {
    next_count_ *= 10;
    settings_.log(text_of({"rank ", rank(), " has refused ", refused_, " connections"}));
  }
}

COHORT_TCP_INLINE void tcp_transport::receive_from(other_rank& one) {
  std::string why;
  try {
    if (one.receiver.advance(one)) return;
    why = one.receiver.failure();
  } catch (communicator_error const& damaged) {
    why = damaged.what();
  }
  end_connection(one, why);
}

COHORT_TCP_INLINE void tcp_transport::read_ring(other_rank& one) {
  if (!one.receiver.memory().is_used() || one.closed) return;
  try {
    if (one.receiver.advance_ring(one)) ++moves_;
    if (one.receiver.memory().must_wake_writer()) one.sender.wake();
  } catch (communicator_error const& damaged) {
    end_connection(one, damaged.what());
  }
}

COHORT_TCP_INLINE void tcp_transport::end_connection(other_rank& one, std::string const& why) {
  one.closed = true;
  one.receiver.memory().end();
  events_->ignore(one.receiver.descriptor());
  monitor_.report_lost(one.rank, why.empty() ? std::string("has closed its connection")
                                             : text_of({"has lost its connection (", why, ")"}));
}

COHORT_TCP_INLINE void tcp_transport::send_to(other_rank& one) {
  if (one.sender.advance([this](ticket ended) { operations_[ended - 1].ended = true; })) ++moves_;
  if (one.sender.failure().empty() || std::exchange(one.reported, true)) return;
  if (one.sender.was_connected())
    return monitor_.report_lost(one.rank, text_of({"has lost its connection (", one.sender.failure(), ")"}));
  monitor_.report_lost(one.rank, text_of({"cannot be reached (", one.sender.failure(),
                                          "); let the firewall of its host pass its ports (COHORT_PORTS), or "
                                          "choose another network (COHORT_INTERFACES)"}));
}

COHORT_TCP_INLINE void tcp_transport::abandon() noexcept {
  for (std::unique_ptr<other_rank> const& one : peers_) {
    one->sender.abandon();
    one->receiver.abandon();
  }
  for (auto const end = time_.now() + longest_delivery; !monitor_.delivered() && time_.now() < end;) {
    time_.let_pass(std::chrono::microseconds(200));
    monitor_.make_progress();
  }
}

}  // namespace cohort::detail
