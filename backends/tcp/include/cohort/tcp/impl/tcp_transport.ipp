// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp/detail/tcp_transport.hpp>
#include <utility>

namespace cohort::detail {

tcp_transport::monitor::monitor(tcp_transport& over)
    : rank_monitor(over.rank(), over.size(), over.settings_.heartbeat, over.time_), over_(over) {}

void tcp_transport::monitor::send(int to, control_message what, std::span<std::byte const> bytes) {
  other_rank& one = over_.at(to);
  one.sender.send_control(what, bytes);
  over_.send_to(one);
}

bool tcp_transport::monitor::is_sending(int to, control_message what) const {
  return to != rank() && !over_.at(to).closed && over_.at(to).sender.is_sending(what);
}

bool tcp_transport::monitor::is_sending() const {
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

bool tcp_transport::monitor::is_linked(int r) const {
  return over_.at(r).sender.is_open() || over_.at(r).receiver.is_connected() || over_.at(r).awaited;
}

void tcp_transport::monitor::ask(int r, int silent) {
  auto const patience = over_.settings_.heartbeat / attempts_per_heartbeat;
  over_.at(r).question.ask(over_.members_.ranks[static_cast<std::size_t>(r)],
                           over_.greeting_for(r, static_cast<std::uint32_t>(silent) + 1), over_.identity_,
                           patience, over_.by_);
}

greeting tcp_transport::greeting_for(int r, std::uint32_t question) const {
  return {.token = members_.token,
          .from = static_cast<std::uint32_t>(rank()),
          .to = static_cast<std::uint32_t>(r),
          .size = static_cast<std::uint32_t>(size()),
          .question = question};
}

void tcp_transport::answer(int from, int silent, secure_stream over) {
  monitor_.asked(from, silent);
  answers_.emplace_back(std::move(over), monitor_.progress_table(), time_.now() + time_to_answer);
}

void tcp_transport::advance_questions() {
  for (std::unique_ptr<other_rank> const& one : peers_)
    if (one->question.is_pending())
      if (auto const table = one->question.advance())
        monitor_.handle(one->rank, control_message::beat, *table);
  if (!answers_.empty())
    std::erase_if(answers_, [now = time_.now()](tcp_answer& one) { return one.advance(now); });
}

void tcp_transport::other_rank::received(ticket one, std::uint64_t bytes) {
  operation& its = over.operations_[one - 1];
  its.got = bytes;
  its.ended = true;
}

void tcp_transport::other_rank::control(control_message what, std::span<std::byte const> bytes) {
  over.monitor_.handle(rank, what, bytes);
  if (what == control_message::failure || what == control_message::farewell) sender.acknowledge(what);
}

void tcp_transport::other_rank::other(frame_header::kind what, std::span<std::byte const> bytes) {
  if (what == frame_header::kind::maps_ring) return sender.use_ring();
  if (what == frame_header::kind::hold || what == frame_header::kind::release)
    return sender.hold(what == frame_header::kind::hold);
  if (what != frame_header::kind::ring) return;
  if (bytes.size() != ring_location::bytes)
    throw communicator_error({.what = "a message is damaged",
                              .expected = {ring_location::bytes, " bytes"},
                              .got = {bytes.size()}});
  if (!receiver.memory().map(ring_location::decoded(bytes.first<ring_location::bytes>()))) return;
  over.has_rings_ = true;
  sender.confirm_ring();
}

tcp_transport::tcp_transport(acceptor entrance, tcp_membership members, tls_identity identity,
                             communicator_settings const& settings,
                             std::shared_ptr<std::optional<failure_report>> last_trouble, socket_api& by)
    : by_(by),
      time_(by.time()),
      members_(std::move(members)),
      identity_(std::move(identity)),
      settings_(settings),
      entrance_(std::move(entrance)),
      events_(by.events()),
      last_trouble_(std::move(last_trouble)),
      monitor_(*this) {
  entrance_.set_name(text_of({"rank ", rank()}));
  for (int r = 0; r < size(); ++r) {
    greeting const hello = greeting_for(r, 0);
    peers_.push_back(std::make_unique<other_rank>(
        *this, r,
        tcp_sender(members_.ranks[static_cast<std::size_t>(r)], hello, identity_, settings_.deadline * 9 / 10,
                   by_)));  // connecting fails before the operations' deadline
  }
  events_->watch(entrance_.events(), entrance_event);
}

void tcp_transport::offer_ring(other_rank& one) {
  if (std::exchange(one.offered, true)) return;
  auto const host_of = [&](int r) { return members_.hosts[static_cast<std::size_t>(r)]; };
  if (host_of(one.rank) == host_of(rank())) one.sender.offer_ring();
}

tcp_transport::~tcp_transport() {
  monitor_.wait_for_farewells(settings_.deadline);
  if (last_trouble_) *last_trouble_ = monitor_.trouble();
}

tcp_transport::ticket tcp_transport::begin(operation one) {
  if (unused_.empty()) {
    operations_.push_back(one);
    return operations_.size();
  }
  ticket const made = unused_.back();
  unused_.pop_back();
  operations_[made - 1] = one;
  return made;
}

tcp_transport::ticket tcp_transport::send(int to, channel on, std::uint32_t tag,
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

tcp_transport::ticket tcp_transport::receive(int from, channel on, std::uint32_t tag,
                                             std::span<std::byte> data) {
  ticket const made = begin({.from = from, .tag = tag, .expected = data.size()});
  at(from).awaited = from != rank();
  at(from).receiver.receive(made, on, tag, {data.data(), element_type::u8, data.size()}, std::nullopt,
                            at(from));
  return made;
}

tcp_transport::ticket tcp_transport::receive_combining(int from, channel on, std::uint32_t tag, elements into,
                                                       reduction how) {
  ticket const made = begin({.from = from, .tag = tag, .expected = into.bytes()});
  at(from).awaited = from != rank();
  at(from).receiver.receive(made, on, tag, into, how, at(from));
  return made;
}

bool tcp_transport::done(ticket one) {
  if (one == 0) return true;
  operation& its = operations_[one - 1];
  if (!its.ended) return false;
  operation const ended = std::exchange(its, {});
  unused_.push_back(one);
  if (ended.from >= 0 && ended.got != ended.expected)
    throw communicator_error({.what = {"a message from rank ", ended.from, " has the wrong size"},
                              .where = {"tag ", ended.tag},
                              .expected = {ended.expected, " bytes"},
                              .got = {ended.got, " bytes"}},
                             own_error_status);
  return true;
}

std::optional<tcp_transport::waiting> tcp_transport::probe(int from, channel on, std::uint32_t tag) {
  for (int r = from < 0 ? 0 : from; r < (from < 0 ? size() : from + 1); ++r)
    if (std::optional<std::uint64_t> const bytes = at(r).receiver.waiting(on, tag))
      return waiting{r, static_cast<std::size_t>(*bytes)};
  looks_ = true;
  return std::nullopt;
}

std::uint64_t tcp_transport::kept_bytes() const {
  std::uint64_t all = 0;
  for (std::unique_ptr<other_rank> const& one : peers_) all += one->receiver.kept_bytes();
  return all;
}

void tcp_transport::hold_if_full() {
  bool const waits = operations_.size() > unused_.size() || std::exchange(looks_, false) || leaves_;
  bool const holds = !waits && kept_bytes() > most_kept;
  if (holds == std::exchange(holds_, holds)) return;
  for (std::unique_ptr<other_rank> const& one : peers_)
    if (one->receiver.is_connected() && !one->closed) one->sender.hold_other(holds);
}

void tcp_transport::make_progress() {
  monitor_.guard([this] { exchange_bytes(); });
  monitor_.make_progress();
}

void tcp_transport::wait_for_event(std::chrono::microseconds longest) {
  sleeps_ = true;
  if (!woken_.exchange(false) && announce_sleep(true)) {
    watch_senders();
    auto const limit = std::chrono::ceil<std::chrono::milliseconds>(longest);
    events_->wait(limit);
  }
  announce_sleep(false);
  polls_ = -1U;  // makes the next exchange_bytes poll the sockets
  sleeps_ = false;
  woken_ = false;
}

bool tcp_transport::announce_sleep(bool sleeps) {
  bool may_sleep = true;
  for (std::unique_ptr<other_rank> const& one : peers_) {
    if (one->closed) continue;
    bool const nothing_to_read = one->receiver.sleeps(sleeps);
    bool const nothing_to_write = one->sender.sleeps(sleeps);
    may_sleep = may_sleep && nothing_to_read && nothing_to_write;
  }
  return may_sleep;
}

void tcp_transport::wake() noexcept {
  woken_ = true;
  if (sleeps_) events_->wake();
}

void tcp_transport::watch_senders() {
  for (std::unique_ptr<other_rank> const& one : peers_) {
    int const wanted = one->sender.waits_for_socket() ? one->sender.descriptor() : -1;
    auto const wanted_for =
        one->sender.waits_for_bytes() ? socket_events::interest::readable : socket_events::interest::writable;
    // Closing a socket ends its events; its descriptor may belong to another connection now.
    bool const is_another = std::exchange(one->attempts, one->sender.attempts()) != one->sender.attempts();
    if (is_another || one->sender.descriptor() < 0) one->watched = -1;
    if (wanted == one->watched && wanted_for == one->watched_for) continue;
    if (one->watched >= 0) events_->ignore(one->watched);
    one->watched = wanted;
    one->watched_for = wanted_for;
    if (wanted >= 0) events_->watch(wanted, sender_event, wanted_for);
  }
}

void tcp_transport::exchange_bytes() {
  constexpr unsigned polls_per_call = 16;  // while messages use rings, only every 16th call polls the sockets
  hold_if_full();
  if (!has_rings_ || ++polls_ % polls_per_call == 0) poll_sockets();
  for (std::unique_ptr<other_rank> const& one : peers_) {
    if (one->receiver.has_more()) receive_from(*one);
    read_ring(*one);
    if (one->sender.wants_to_write()) send_to(*one);
  }
  advance_questions();
}

std::uint64_t tcp_transport::received_bytes() const {
  std::uint64_t bytes = 0;
  for (std::unique_ptr<other_rank> const& other : peers_) bytes += other->receiver.message_bytes();
  return bytes;
}

void tcp_transport::poll_sockets() {
  std::uint64_t ids[64];
  bool entrance_is_ready = false;
  for (std::uint64_t const id : events_->ready(ids))
    if (id < static_cast<std::uint64_t>(size())) {
      ++moves_;
      receive_from(at(static_cast<int>(id)));
    } else if (id == entrance_event) {
      entrance_is_ready = true;
    }  // sender_event: exchange_bytes advances senders
  if (entrance_is_ready || entrance_.has_timers()) advance_entrance();
}

void tcp_transport::advance_entrance() {
  entrance_.advance(share_of_unknown);
  while (std::optional<greeted_connection> one = entrance_.next()) admit(*std::move(one));
  bool const watches = !entrance_.is_throttled();
  if (watches == std::exchange(watches_entrance_, watches)) return;
  if (watches)
    events_->watch(entrance_.events(), entrance_event);
  else
    events_->ignore(entrance_.events());
}

void tcp_transport::admit(greeted_connection one) {
  greeting const expected{.token = members_.token,
                          .to = static_cast<std::uint32_t>(rank()),
                          .size = static_cast<std::uint32_t>(size())};
  int from = -1;
  std::string const why = greeting::refusal(one.bytes, expected, from);
  if (!why.empty()) return entrance_.refuse(one.from, why);
  if (std::uint32_t const question = greeting::question_of(one.bytes); question > 0)
    return answer(from, static_cast<int>(question) - 1, std::move(one.stream));
  other_rank& its = at(from);
  if (its.receiver.has_begun())
    return entrance_.refuse(one.from, text_of({"rank ", from, " is connected already"}));
  if (one.stream.send(std::span(&greeting::welcome, 1)).value_or(0) == 0)
    return entrance_.refuse(one.from, "it has closed the connection");
  events_->watch(one.stream.socket().descriptor(), static_cast<std::uint64_t>(from));
  its.receiver.connect(std::move(one.stream));
  if (holds_) its.sender.hold_other(true);
  receive_from(its);  // TLS may have received more than the greeting
}

void tcp_transport::receive_from(other_rank& one) {
  if (!one.receiver.is_connected() || one.closed) return;  // the connection has ended since the event
  std::string why;
  try {
    if (one.receiver.advance(one)) return;
    if (!one.receiver.has_begun()) return one.receiver.disconnect();  // the sender has made another attempt
    why = one.receiver.failure();
  } catch (communicator_error const& damaged) {
    why = damaged.what();
  }
  end_connection(one, why);
}

void tcp_transport::read_ring(other_rank& one) {
  if (!one.receiver.memory().is_used() || one.closed) return;
  try {
    if (one.receiver.advance_ring(one)) ++moves_;
    if (one.receiver.memory().must_wake_writer()) one.sender.wake();
  } catch (communicator_error const& damaged) {
    end_connection(one, damaged.what());
  }
}

void tcp_transport::end_connection(other_rank& one, std::string const& why) {
  one.closed = true;
  one.receiver.memory().end();
  events_->ignore(one.receiver.descriptor());
  monitor_.report_lost(one.rank, why.empty() ? std::string("has closed its connection")
                                             : text_of({"has lost its connection (", why, ")"}));
}

void tcp_transport::send_to(other_rank& one) {
  if (one.sender.advance([this](ticket ended) { operations_[ended - 1].ended = true; })) ++moves_;
  if (one.sender.lacks_descriptor() && entrance_.close_one("this process needs its descriptor"))
    return one.sender.try_again();
  if (one.sender.failure().empty() || std::exchange(one.reported, true)) return;
  if (one.sender.lacks_descriptor())
    return monitor_.announce({text_of(
        {"rank ", rank(), " cannot open its connection to rank ", one.rank, ": ", one.sender.failure()})});
  if (one.sender.was_connected())
    return monitor_.report_lost(one.rank, text_of({"has lost its connection (", one.sender.failure(), ")"}));
  monitor_.report_lost(one.rank, text_of({"cannot be reached (", one.sender.failure(),
                                          "); if it has not ended, let the firewall of its host pass its "
                                          "ports (COHORT_PORTS), or choose another network "
                                          "(COHORT_INTERFACES)"}));
}

void tcp_transport::abandon() noexcept {
  for (std::unique_ptr<other_rank> const& one : peers_) {
    one->sender.abandon();
    one->receiver.abandon();
  }
  for (auto const end = time_.now() + longest_abandon; !monitor_.delivered() && time_.now() < end;) {
    time_.let_pass(std::chrono::microseconds(200));
    monitor_.make_progress();
  }
}

void tcp_transport::close() noexcept {
  monitor_.stop();
  if (last_trouble_) *last_trouble_ = monitor_.trouble();
  peers_.clear();
  answers_.clear();
  events_.reset();
  entrance_ = {};
}

}  // namespace cohort::detail
