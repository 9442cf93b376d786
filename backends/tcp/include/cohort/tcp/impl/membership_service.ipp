// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <openssl/rand.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp/detail/membership_service.hpp>
#include <cohort/tcp/detail/message_bytes.hpp>
#include <cstring>
#include <utility>

namespace cohort::detail {

inline constexpr std::string_view membership_mark = "cohort membership 1";

inline constexpr std::size_t bytes_of_a_membership =
    2 * sizeof(std::uint64_t) + sizeof(std::uint32_t);  // without members

void put_membership(message_bytes& to, membership const& peer) {
  to.put(static_cast<std::uint64_t>(peer.number));
  to.put(static_cast<std::uint32_t>(peer.members.size()));
  for (process_id const id : peer.members) to.put(id);
  to.put(static_cast<std::uint64_t>(peer.origin));
}

membership membership_in(message_bytes& from) {
  membership found{.number = static_cast<std::int64_t>(from.number<std::uint64_t>())};
  for (std::uint32_t left = from.count(sizeof(process_id)); left > 0; --left)
    found.members.push_back(from.number<process_id>());
  found.origin = static_cast<std::int64_t>(from.number<std::uint64_t>());
  return found;
}

std::vector<std::byte> member_message::encoded() const {
  message_bytes to;
  to.put(static_cast<std::uint8_t>(is));
  if (is != kind::report) return std::move(to.written);
  to.put(std::string(membership_mark));
  to.put(job);
  to.put(host);
  to.put(process);
  to.put(static_cast<std::uint8_t>(is_first));
  to.put(serial);
  to.put(static_cast<std::uint8_t>(state.trains));
  to.put(static_cast<std::uint8_t>(state.accepts_processes));
  to.put(static_cast<std::uint64_t>(state.step));
  put_membership(to, state.confirmed);
  to.put(static_cast<std::uint32_t>(state.attempts.size()));
  for (membership const& attempt : state.attempts) put_membership(to, attempt);
  to.put(static_cast<std::uint64_t>(state.loaded));
  to.put(static_cast<std::uint32_t>(state.lost.size()));
  for (process_id const id : state.lost) to.put(id);
  to.put(addresses);
  return std::move(to.written);
}

member_message member_message::decoded(std::span<std::byte const> bytes) {
  message_bytes from(bytes);
  member_message found{.is = static_cast<kind>(from.number<std::uint8_t>())};
  if (found.is == kind::report) {
    if (from.text() != membership_mark)
      throw communicator_error({.what = "a process of another version has connected to the rendezvous",
                                .expected = std::string(membership_mark),
                                .got = "another text"});
    found.job = from.text();
    found.host = from.text();
    found.process = from.number<process_id>();
    found.is_first = from.number<std::uint8_t>() != 0;
    found.serial = from.number<std::uint64_t>();
    found.state.trains = from.number<std::uint8_t>() != 0;
    found.state.accepts_processes = from.number<std::uint8_t>() != 0;
    found.state.step = static_cast<std::int64_t>(from.number<std::uint64_t>());
    found.state.confirmed = membership_in(from);
    for (std::uint32_t left = from.count(bytes_of_a_membership); left > 0; --left)
      found.state.attempts.push_back(membership_in(from));
    found.state.loaded = static_cast<std::int64_t>(from.number<std::uint64_t>());
    for (std::uint32_t left = from.count(sizeof(process_id)); left > 0; --left)
      found.state.lost.push_back(from.number<process_id>());
    found.addresses = from.addresses();
  }
  from.end();
  if (found.is > kind::quit)
    throw communicator_error({.what = "a message of a process is damaged",
                              .where = "rendezvous",
                              .expected = "report, beat, leave or quit",
                              .got = {static_cast<int>(found.is)}});
  return found;
}

std::vector<std::byte> service_message::encoded() const {
  message_bytes to;
  to.put(static_cast<std::uint8_t>(is));
  to.put(serial);
  to.put(text);
  put_membership(to, next);
  put_members(to, members);
  return std::move(to.written);
}

service_message service_message::decoded(std::span<std::byte const> bytes) {
  message_bytes from(bytes);
  service_message found{.is = static_cast<kind>(from.number<std::uint8_t>())};
  found.serial = from.number<std::uint64_t>();
  found.text = from.text();
  found.next = membership_in(from);
  found.members = members_in(from);
  from.end();
  bool const is_valid = found.is <= kind::refused && found.next.members.size() == found.members.ranks.size()
                        && (found.is != kind::begin || !found.members.ranks.empty());
  if (!is_valid)
    throw communicator_error({.what = "a message of the rendezvous is damaged",
                              .expected = {found.next.members.size(), " members"},
                              .got = {found.members.ranks.size(), ", rank ", found.members.rank}});
  return found;
}

membership_service::membership_service(tcp_socket listening, tls_identity identity, std::string job,
                                       elastic_settings wanted, sink log)
    : listening_(std::move(listening)),
      identity_(std::move(identity)),
      job_(std::move(job)),
      how_(std::move(wanted)),
      log_(std::move(log)),
      rules_(how_.rules, clock::now()),
      thread_([this] { run(); }) {}

membership_service::~membership_service() {
  stops_ = true;
  thread_.join();  // bounded: by time_to_answer
}

void membership_service::wait_for_successor(std::int64_t number, std::chrono::milliseconds longest) const {
  for (auto const limit = clock::now() + longest; clock::now() < limit && begun_ <= number;)
    ::poll(nullptr, 0, 5);  // bounded: 5 ms
}

void membership_service::log_line(std::string const& line) const noexcept try {
  if (log_) log_("rendezvous: " + line);
} catch (...) {
}

void membership_service::run() noexcept {
  for (std::optional<clock::time_point> end; !end || clock::now() < *end;) {
    if (stops_ && !end) end = clock::now() + time_to_answer;
    try {
      if (!stops_) accept_connections();
      for (connection& peer : connections_)
        if (!peer.ended) read(peer);
      if (!stops_) decide();
      std::erase_if(connections_, [](connection const& peer) { return peer.ended; });
      bool const is_flushed =
          std::ranges::all_of(connections_, [](connection const& peer) { return peer.stream.is_flushed(); });
      if (stops_ && is_flushed) return;
      std::vector<pollfd> all{{listening_.descriptor(), POLLIN, 0}};
      for (connection const& peer : connections_)
        all.push_back({peer.stream.descriptor(),
                       static_cast<short>(peer.stream.is_flushed() ? POLLIN : POLLIN | POLLOUT), 0});
      ::poll(all.data(), all.size(), 20);  // bounded: 20 ms
    } catch (std::exception const& problem) {
      log_line(problem.what());
      ::poll(nullptr, 0, 20);  // bounded: 20 ms; memory may be free afterwards
    }
  }
}

void membership_service::accept_connections() {
  while (true) {
    endpoint from;
    std::optional<tcp_socket> socket = listening_.accept(&from);
    if (!socket) return;
    auto const unknown = [](connection const& peer) { return peer.process == 0; };
    if (static_cast<std::size_t>(std::ranges::count_if(connections_, unknown)) >= most_unknown)
      std::ranges::find_if(connections_, unknown)->ended = true;
    connections_.push_back(
        {.stream = message_stream(secure_stream(*std::move(socket), secure_stream::role::server, identity_),
                                  most_bytes),
         .from = from,
         .accepted = clock::now()});
  }
}

void membership_service::refuse(connection& peer, std::string const& why) {
  log_line(text_of({"refused ", peer.from.text(), ": ", why}));
  peer.stream.send(service_message{.is = service_message::kind::refused, .text = why}.encoded());
  peer.stream.advance();
  peer.ended = true;
}

void membership_service::read(connection& peer) {
  while (!peer.ended) {
    std::optional<std::vector<std::byte>> const message = peer.stream.advance();
    if (!peer.stream.failure().empty()) {
      if (peer.process != 0)
        rules_.lose(peer.process, peer.stream.failure_cause() == secure_stream::cause::network);
      peer.ended = true;
      return;
    }
    if (!message) {
      if (peer.process == 0 && !peer.is_outside && clock::now() > peer.accepted + time_to_report)
        refuse(peer, "it has not reported its state in time");
      return;
    }
    try {
      handle(peer, member_message::decoded(*message));
    } catch (communicator_error const& damaged) {
      refuse(peer, damaged.what());
    }
  }
}

void membership_service::handle(connection& peer, member_message const& message) {
  // `read` sends the bytes: advance() here would take a message of the process from the stream.
  auto const answer = [&](service_message const& text) { peer.stream.send(text.encoded()); };
  if (message.is == member_message::kind::beat) {
    rules_.hear(peer.process, clock::now());
    return answer({.is = service_message::kind::beat});
  }
  if (message.is != member_message::kind::report) {
    bool const leaves = message.is == member_message::kind::quit || rules_.may_leave(peer.process);
    if (message.is == member_message::kind::leave)
      answer({.is = leaves ? service_message::kind::left : service_message::kind::stays});
    if (leaves) rules_.leave(peer.process);
    peer.ended = message.is == member_message::kind::quit;
    return;
  }
  if (message.job != job_)
    return refuse(peer, text_of({"the job of the rendezvous is ", quote_for_error(job_),
                                 ", and that of the process ", quote_for_error(message.job)}));
  if (message.process == 0 || message.addresses.empty())
    return refuse(peer, "it has no number or no address");
  for (connection& other : connections_)  // a process that connects again replaces its former connection
    if (&other != &peer && other.process == message.process) other.ended = true;
  peer.process = message.process;
  places_[message.process] = {message.host, message.addresses};
  peer.is_outside = message.is_first && rules_.current().number > 0;
  if (peer.is_outside) {
    peer.process = 0;
    return answer({.is = service_message::kind::has_begun});
  }
  if (message.is_first) first_.push_back(message.process);
  rules_.report(message.process, message.state, clock::now());
  if (rules_.current().number > 0) dismiss_first();
  answer(
      {.is = service_message::kind::received,
       .serial = message.serial,
       .text = text_of({rules_.waiting(), " processes wait, at least ", how_.rules.least, " are needed"})});
}

/// Tells the processes that wait for the first membership, and are not in it, that the job has begun.
void membership_service::dismiss_first() {
  for (process_id const id : std::exchange(first_, {})) {
    if (rules_.current().contains(id)) continue;
    rules_.leave(id);
    send(id, {.is = service_message::kind::has_begun});
    for (connection& peer : connections_)
      if (peer.process == id) {
        peer.process = 0;
        peer.is_outside = true;
      }
  }
}

void membership_service::send(process_id to, service_message const& message) {
  for (connection& peer : connections_)
    if (!peer.ended && peer.process == to) peer.stream.send(message.encoded());
}

std::optional<process_id> membership_service::claim(membership const& last, process_id by) const {
  if (how_.claims.empty()) return std::nullopt;
  std::string name = job_;
  std::ranges::replace(name, '/', '_');
  // The random number of a process distinguishes memberships of several runs.
  std::string const path =
      text_of({how_.claims, "/", name, ".membership-", last.number, "-", last.members.front()});
  int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
  bool const exists = file < 0 && errno == EEXIST;
  if (exists) file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    log_line(text_of({"cannot create ", path, ": ", std::strerror(errno)}));
    return 0;
  }
  auto const bytes = static_cast<ssize_t>(sizeof by);
  bool const is_complete = (exists ? ::read(file, &by, sizeof by) : ::write(file, &by, sizeof by)) == bytes;
  bool const is_closed = ::close(file) == 0;
  return is_complete && is_closed ? by : 0;
}

void membership_service::decide() {
  while (true) {
    membership_rules::decision const next = rules_.decide(clock::now());
    if (next.is_empty()) return;
    for (process_id const peer : next.end) send(peer, {.is = service_message::kind::end});
    for (connection& peer : connections_)
      if (std::ranges::find(next.close, peer.process) != next.close.end()) {
        log_line(text_of({"lost ", peer.from.text(), ": it is silent"}));
        peer.ended = true;
      }
    if (next.claim) rules_.claimed(*next.claim, claim(*next.claim, next.claimant));
    if (next.begin) begin(*next.begin);
  }
}

void membership_service::begin(membership const& next) {
  service_message message{.is = service_message::kind::begin, .next = next};
  for (process_id const id : next.members) {
    place const& where = places_.at(id);
    auto const first = std::ranges::find_if(
        next.members, [&](process_id other) { return places_.at(other).host == where.host; });
    message.members.ranks.push_back(where.addresses);
    message.members.hosts.push_back(static_cast<std::uint32_t>(first - next.members.begin()));
  }
  if (::RAND_bytes(reinterpret_cast<unsigned char*>(message.members.token.data()),
                   static_cast<int>(message.members.token.size()))
      != 1)
    throw communicator_error({.what = "the system has no random numbers", .where = "rendezvous"});
  for (std::size_t rank = 0; rank < next.members.size(); ++rank) {
    message.members.rank = static_cast<int>(rank);
    send(next.members[rank], message);
  }
  dismiss_first();
  std::erase_if(places_, [&](auto const& entry) {
    return !next.contains(entry.first) && std::ranges::none_of(connections_, [&](connection const& peer) {
      return peer.process == entry.first;
    });
  });
  begun_ = next.number;
  log_line(text_of({"membership ", next.number, ": ", next.members.size(),
                    next.members.size() == 1 ? " rank" : " ranks"}));
}

}  // namespace cohort::detail
