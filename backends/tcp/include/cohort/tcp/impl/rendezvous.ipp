// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <openssl/rand.h>
#include <poll.h>

#include <algorithm>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp/detail/rendezvous.hpp>
#include <cstring>
#include <map>
#include <utility>

namespace cohort::detail {

/// Appends numbers, texts and addresses, or reads them in the same order.
class message_bytes {
 public:
  message_bytes() = default;
  explicit message_bytes(std::span<std::byte const> from) : from_(from) {}

  template <class Number>
  void put(Number number) {
    std::byte bytes[sizeof number];
    put_number(bytes, number);
    written.insert(written.end(), bytes, bytes + sizeof number);
  }
  void put(std::span<std::byte const> bytes) {
    put(static_cast<std::uint32_t>(bytes.size()));
    written.insert(written.end(), bytes.begin(), bytes.end());
  }
  void put(std::string const& text) { put(std::as_bytes(std::span(text))); }

  template <class Number>
  Number number() {
    return number_at<Number>(take(sizeof(Number)).data());
  }
  std::span<std::byte const> bytes() { return take(number<std::uint32_t>()); }
  std::string text() {
    std::span<std::byte const> const found = bytes();
    return {reinterpret_cast<char const*>(found.data()), found.size()};
  }
  /// Reads the number of parts that have at least `least` bytes each.
  std::uint32_t count(std::size_t least) {
    auto const found = number<std::uint32_t>();
    if (found > from_.size() / least) refuse();
    return found;
  }
  void end() const {
    if (!from_.empty()) refuse();
  }

  std::vector<std::byte> written;

 private:
  std::span<std::byte const> take(std::size_t count) {
    if (count > from_.size()) refuse();
    std::span<std::byte const> const taken = from_.first(count);
    from_ = from_.subspan(count);
    return taken;
  }
  [[noreturn]] static void refuse() {
    throw communicator_error({.what = "a message of the rendezvous is damaged",
                              .expected = "a message of this version",
                              .got = "other bytes"});
  }

  std::span<std::byte const> from_;
};

inline constexpr std::string_view rendezvous_mark = "cohort rendezvous 2";

COHORT_TCP_INLINE void put_addresses(message_bytes& to, std::vector<endpoint> const& addresses) {
  to.put(static_cast<std::uint32_t>(addresses.size()));
  for (endpoint const& one : addresses) to.put(std::span<std::byte const>(one.encoded()));
}
COHORT_TCP_INLINE std::vector<endpoint> addresses_in(message_bytes& from) {
  std::vector<endpoint> made;
  for (std::uint32_t left = from.count(sizeof(std::uint32_t) + endpoint::encoded_bytes); left > 0; --left)
    made.push_back(endpoint::decoded(from.bytes()));
  return made;
}

COHORT_TCP_INLINE std::vector<std::byte> registration::encoded() const {
  message_bytes to;
  to.put(std::string(rendezvous_mark));
  to.put(job);
  to.put(host);
  to.put(static_cast<std::uint32_t>(ranks));
  to.put(static_cast<std::uint32_t>(rank + 1));
  put_addresses(to, addresses);
  return std::move(to.written);
}

COHORT_TCP_INLINE registration registration::decoded(std::span<std::byte const> bytes) {
  message_bytes from(bytes);
  if (from.text() != rendezvous_mark)
    throw communicator_error({.what = "a process of another version has connected to the rendezvous",
                              .expected = std::string(rendezvous_mark),
                              .got = "another text"});
  registration made{.job = from.text(), .host = from.text()};
  constexpr auto most_ranks = static_cast<std::uint32_t>(detail::most_ranks);
  auto const ranks = from.number<std::uint32_t>(), rank = from.number<std::uint32_t>();
  if (ranks > most_ranks || rank > most_ranks)
    throw communicator_error({.what = "a registration at the rendezvous is damaged",
                              .expected = {"at most ", most_ranks, " ranks"},
                              .got = {"rank ", rank, " of ", ranks}});
  made.ranks = static_cast<int>(ranks);
  made.rank = static_cast<int>(rank) - 1;
  made.addresses = addresses_in(from);
  from.end();
  return made;
}

COHORT_TCP_INLINE std::vector<std::byte> rendezvous_answer::encoded() const {
  message_bytes to;
  to.put(static_cast<std::uint8_t>(is));
  to.put(static_cast<std::uint32_t>(joined));
  to.put(text);
  to.put(static_cast<std::uint32_t>(members.rank));
  to.put(std::span<std::byte const>(members.token));
  to.put(static_cast<std::uint32_t>(members.ranks.size()));
  for (std::size_t r = 0; r < members.ranks.size(); ++r) {
    put_addresses(to, members.ranks[r]);
    to.put(members.hosts[r]);
  }
  return std::move(to.written);
}

COHORT_TCP_INLINE rendezvous_answer rendezvous_answer::decoded(std::span<std::byte const> bytes) {
  message_bytes from(bytes);
  rendezvous_answer made{.is = static_cast<kind>(from.number<std::uint8_t>()),
                         .joined = static_cast<int>(from.number<std::uint32_t>()),
                         .text = from.text()};
  made.members.rank = static_cast<int>(from.number<std::uint32_t>());
  std::span<std::byte const> const token = from.bytes();
  std::uint32_t const ranks = from.count(sizeof(std::uint32_t));
  for (std::uint32_t r = 0; r < ranks; ++r) {
    made.members.ranks.push_back(addresses_in(from));
    made.members.hosts.push_back(from.number<std::uint32_t>());
  }
  from.end();
  bool const valid = made.is <= kind::refused && token.size() == made.members.token.size()
                     && (made.is != kind::complete || static_cast<std::uint32_t>(made.members.rank) < ranks);
  if (!valid)
    throw communicator_error({.what = "an answer of the rendezvous is damaged",
                              .expected = "a rank of the job",
                              .got = {"rank ", made.members.rank, " of ", ranks}});
  std::ranges::copy(token, made.members.token.begin());
  return made;
}

COHORT_TCP_INLINE void message_stream::send(std::span<std::byte const> message) {
  std::byte size[4];
  put_number(size, static_cast<std::uint32_t>(message.size()));
  out_.insert(out_.end(), size, size + sizeof size);
  out_.insert(out_.end(), message.begin(), message.end());
}

COHORT_TCP_INLINE std::optional<std::vector<std::byte>> message_stream::advance() {
  auto const fail = [&](std::string why, secure_stream::cause due_to) {
    failure_ = why.empty() ? "the connection was closed" : std::move(why);
    cause_ = due_to;
    return std::nullopt;
  };
  auto const stream_has_failed = [&] { return fail(stream_.failure(), stream_.failure_cause()); };
  if (!failure_.empty()) return std::nullopt;
  if (!ready_) {
    secure_stream::progress const now = stream_.advance();
    if (now == secure_stream::progress::failed) return stream_has_failed();
    if (now == secure_stream::progress::waits) return std::nullopt;
    ready_ = true;
  }
  while (begin_ < out_.size()) {
    std::optional<std::size_t> const moved = stream_.send(std::span<std::byte const>(out_).subspan(begin_));
    if (!moved) return stream_has_failed();
    if (*moved == 0) break;
    begin_ += *moved;
  }
  if (begin_ == out_.size()) {
    out_.clear();
    begin_ = 0;
  }
  while (true) {
    std::size_t const wanted =
        in_.size() < 4 ? 4 - in_.size() : 4 + number_at<std::uint32_t>(in_.data()) - in_.size();
    if (in_.size() >= 4 && number_at<std::uint32_t>(in_.data()) > most_)
      return fail("a message is too long", secure_stream::cause::protocol);
    if (wanted == 0) break;
    std::byte piece[4096];
    std::optional<std::size_t> const moved =
        stream_.receive(std::span(piece).first(std::min(wanted, sizeof piece)));
    if (!moved) return stream_has_failed();
    if (*moved == 0) return std::nullopt;
    in_.insert(in_.end(), piece, piece + *moved);
  }
  std::vector<std::byte> made(in_.begin() + 4, in_.end());
  in_.clear();
  return made;
}

COHORT_TCP_INLINE rendezvous_service::rendezvous_service(tcp_socket listening, tls_identity identity,
                                                         std::string job, int ranks, sink log)
    : listening_(std::move(listening)),
      identity_(std::move(identity)),
      job_(std::move(job)),
      ranks_(ranks),
      log_(std::move(log)),
      thread_([this] { run(); }) {}

COHORT_TCP_INLINE rendezvous_service::~rendezvous_service() {
  stops_ = true;
  thread_.join();  // bounded: by time_to_answer
}

COHORT_TCP_INLINE void rendezvous_service::log_line(std::string_view line) noexcept try {
  constexpr int most_lines = 20;
  if (log_ && ++lines_ <= most_lines)
    log_(text_of({"rendezvous: ", line, lines_ == most_lines ? "; further messages are not printed" : ""}));
} catch (...) {
}

COHORT_TCP_INLINE void rendezvous_service::run() noexcept {
  for (std::optional<clock::time_point> end; !end || clock::now() < *end;) {
    if (stops_ && !complete_) return;
    if (stops_ && !end) end = clock::now() + time_to_answer;
    try {
      if (advance()) return;
      bool const accepts = clock::now() >= next_accept_;
      std::vector<pollfd> all{{accepts ? listening_.descriptor() : -1, POLLIN, 0}};
      for (visitor const& one : visitors_)
        all.push_back({one.stream.descriptor(),
                       static_cast<short>(one.stream.is_flushed() ? POLLIN : POLLIN | POLLOUT), 0});
      constexpr int longest_ms = 20;
      ::poll(all.data(), all.size(), longest_ms);  // bounded: 20 ms
      for (std::size_t k = 0; k < visitors_.size(); ++k)
        visitors_[k].has_sent = visitors_[k].has_sent || (all[k + 1].revents & POLLIN) != 0;
    } catch (std::exception const& problem) {
      log_line(problem.what());
      ::poll(nullptr, 0, 20);  // bounded: 20 ms; memory may be free then
    }
  }
}

COHORT_TCP_INLINE void rendezvous_service::log_lost(visitor const& one) {
  bool const has_other_key = one.stream.failure_cause() == secure_stream::cause::identity;
  std::string const why =
      has_other_key ? "it does not have the secret or certificate of the job, " + one.stream.failure()
                    : one.stream.failure();
  constexpr std::size_t most_logged = 20;
  if (lost_.size() < most_logged && lost_.insert(one.from.host() + ": " + why).second)
    log_line(text_of({"lost ", one.from.text(), ": ", why}));
}

COHORT_TCP_INLINE void rendezvous_service::refuse(visitor& one, std::string const& why) {
  log_line(text_of({"refused ", one.from.text(), ": ", why}));
  one.stream.send(rendezvous_answer{.is = rendezvous_answer::kind::refused, .text = why}.encoded());
  one.stream.advance();
  one.ended = true;
}

COHORT_TCP_INLINE void rendezvous_service::read(visitor& one) {
  std::optional<std::vector<std::byte>> const message = one.stream.advance();
  if (!one.stream.failure().empty()) {
    if (!complete_) log_lost(one);
    has_changed_ = true;
    one.ended = true;
    return;
  }
  if (!message) {
    if (!one.wants && clock::now() >= one.accepted + time_to_register)
      refuse(one, "no registration has arrived in time");
    return;
  }
  registration wants;
  try {
    wants = registration::decoded(*message);
  } catch (communicator_error const& damaged) {
    return refuse(one, damaged.what());
  }
  if (one.wants || complete_) return refuse(one, "the job has all of its ranks");
  if (wants.job != job_)
    return refuse(one, text_of({"this is the rendezvous of another job than ", quote_for_error(wants.job)}));
  if (wants.ranks != ranks_)
    return refuse(one, text_of({"the job has ", ranks_, " ranks, and the process expects ", wants.ranks}));
  if (wants.rank >= ranks_ || wants.addresses.empty()) return refuse(one, "it has no valid rank or address");
  auto const has_its_rank = [&](visitor const& other) {
    return other.is_member() && wants.rank >= 0 && other.wants->rank == wants.rank;
  };
  // A process that registers again may have given its first connection up.
  if (count_members() + 1 >= ranks_ || std::ranges::any_of(visitors_, has_its_rank)) end_lost_members();
  int const joined = count_members() + 1;
  for (visitor const& other : visitors_) {
    if (has_its_rank(other)) return refuse(one, text_of({"rank ", wants.rank, " has joined already"}));
    if (other.is_member() && (wants.rank >= 0) != (other.wants->rank >= 0))
      return refuse(one, "either all processes or none have a number");
  }
  if (joined > ranks_) return refuse(one, "the job has all of its ranks");
  one.wants = std::move(wants);
  one.arrival = ++arrivals_;
  has_changed_ = true;
  if (joined == ranks_) complete();
}

COHORT_TCP_INLINE int rendezvous_service::count_members() const {
  return static_cast<int>(std::ranges::count_if(visitors_, &visitor::is_member));
}

COHORT_TCP_INLINE void rendezvous_service::end_lost_members() {
  for (visitor& one : visitors_) {
    if (!one.is_member()) continue;
    one.stream.advance();
    one.ended = !one.stream.failure().empty();
    if (one.ended) log_lost(one);
  }
}

COHORT_TCP_INLINE void rendezvous_service::send_progress() {
  auto const now = clock::now();
  if (complete_ || !has_changed_ || now < next_progress_) return;
  has_changed_ = false;
  int const joined = count_members();
  next_progress_ = now + time_between_progress;
  if (joined == 0) return;
  std::string const text = membership_text();
  for (visitor& one : visitors_) {
    if (!one.is_member() || one.last_text == text) continue;
    one.last_text = text;
    one.stream.send(rendezvous_answer{.joined = joined, .text = text}.encoded());
  }
}

COHORT_TCP_INLINE std::string rendezvous_service::membership_text() const {
  constexpr std::size_t most_names = 8;
  std::vector<bool> has_joined(static_cast<std::size_t>(ranks_));
  std::map<std::string, int> processes;  // by address
  bool has_numbers = false;
  for (visitor const& one : visitors_) {
    if (!one.is_member()) continue;
    ++processes[one.from.host()];
    if (one.wants->rank < 0) continue;
    has_numbers = true;
    has_joined[static_cast<std::size_t>(one.wants->rank)] = true;
  }
  std::vector<std::string> names;
  for (std::size_t rank = 0; has_numbers && rank < has_joined.size(); ++rank)
    if (!has_joined[rank]) names.push_back(std::to_string(rank));
  for (auto const& [address, count] : processes)
    if (!has_numbers) names.push_back(text_of({count, " from ", address}));
  std::string made = !has_numbers ? "joined: " : names.size() == 1 ? "missing: rank " : "missing: ranks ";
  for (std::size_t k = 0; k < std::min(names.size(), most_names); ++k)
    made += text_of({k > 0 ? ", " : "", names[k]});
  if (names.size() > most_names) made += text_of({" and ", names.size() - most_names, " others"});
  return made;
}

COHORT_TCP_INLINE void rendezvous_service::complete() {
  std::vector<visitor*> members;
  for (visitor& one : visitors_)
    if (one.is_member()) members.push_back(&one);
  std::ranges::sort(members, {}, [](visitor const* one) {
    return std::tuple(one->wants->rank, one->wants->host, one->arrival);
  });
  rendezvous_answer answer{.is = rendezvous_answer::kind::complete, .joined = ranks_};
  for (visitor const* one : members) {
    answer.members.ranks.push_back(one->wants->addresses);
    auto const first = std::ranges::find_if(
        members, [&](visitor const* other) { return other->wants->host == one->wants->host; });
    answer.members.hosts.push_back(static_cast<std::uint32_t>(first - members.begin()));
  }
  if (::RAND_bytes(reinterpret_cast<unsigned char*>(answer.members.token.data()),
                   static_cast<int>(answer.members.token.size()))
      != 1)
    throw communicator_error({.what = "the system has no random numbers", .where = "rendezvous"});
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    answer.members.rank = static_cast<int>(rank);
    members[rank]->stream.send(answer.encoded());
  }
  complete_ = true;
}

COHORT_TCP_INLINE bool rendezvous_service::close_one(std::string_view why) {
  auto const found = first_to_close(visitors_, clock::now(), std::mem_fn(&visitor::is_unknown));
  if (found == visitors_.end()) return false;
  log_line(text_of({"closed ", found->from.text(), ": ", why}));
  visitors_.erase(found);
  return true;
}

COHORT_TCP_INLINE void rendezvous_service::accept_connections() {
  if (clock::now() < next_accept_) return;
  auto unregistered = std::ranges::count_if(visitors_, &visitor::is_unknown);
  for (int k = 0; k < most_in_a_row; ++k) {
    endpoint from;
    std::optional<tcp_socket> made = listening_.accept(&from);
    if (!made && tcp_socket::has_no_descriptor()) {
      if (close_one("this process needs its descriptor")) continue;
      log_line(text_of({"cannot accept a connection: expected ", expected_descriptor()}));
      next_accept_ = clock::now() + pause;
    }
    if (!made) return;
    bool const has_sent = made->has_bytes();
    visitors_.push_back(
        {.stream = message_stream(secure_stream(*std::move(made), secure_stream::role::server, identity_),
                                  most_registration),
         .from = from,
         .accepted = clock::now(),
         .has_sent = has_sent});
    if (has_sent) read(visitors_.back());
    unregistered += visitors_.back().is_unknown();
    if (unregistered <= most_unregistered) continue;
    close_one("there are too many connections of unknown processes");
    --unregistered;
  }
}

COHORT_TCP_INLINE bool rendezvous_service::advance() {
  accept_connections();
  for (visitor& one : visitors_)
    if (!one.ended) read(one);
  send_progress();
  std::erase_if(visitors_, [](visitor const& one) { return one.ended; });
  bool waits = !complete_;
  for (visitor const& one : visitors_) waits = waits || (one.wants && !one.stream.is_flushed());
  return !waits;
}

COHORT_TCP_INLINE tcp_membership join_rendezvous(host_and_port const& at, tls_identity const& identity,
                                                 registration const& mine, std::chrono::milliseconds deadline,
                                                 std::function<void()> const& retry, acceptor* entrance) {
  using clock = std::chrono::steady_clock;
  auto const end = clock::now() + deadline;
  struct failure {
    std::string why;
    secure_stream::cause due_to = secure_stream::cause::network;
  };
  std::optional<failure> last, permanent;  // permanent: an answer of a service, which another start would get
  std::optional<message_stream> stream;
  std::size_t attempt = 0;
  int joined = 0;       // as this connection has reported
  std::string members;  // as any connection has reported
  constexpr auto time_between_questions = std::chrono::seconds(1);
  clock::time_point next_question{};
  std::string const silent_program = "a program that accepts connections and does not answer";
  std::vector<endpoint> addresses;
  std::chrono::milliseconds time_of_attempt(3000);  // without an answer
  clock::time_point attempt_limit{};
  while (clock::now() < end) {
    if (entrance) entrance->advance(1);
    if (!stream) try {
        if (attempt > 0) retry();
        if (clock::now() >= next_question) {  // a host that has restarted may have another address
          addresses = resolve(at, end);
          next_question = clock::now() + time_between_questions;
        }
        attempt_limit = clock::now() + time_of_attempt;
        stream.emplace(secure_stream(tcp_socket::connecting(addresses[attempt++ % addresses.size()]),
                                     secure_stream::role::client, identity),
                       message_stream::most_bytes);
        stream->send(mine.encoded());
      } catch (socket_error const& refused) {
        if (is_descriptor_shortage(refused.reason)) throw;
        last = {refused.what()};
      } catch (communicator_error const& refused) {
        last = {refused.what()};
      }
    std::optional<std::vector<std::byte>> const message = stream ? stream->advance() : std::nullopt;
    if (message) {
      rendezvous_answer answer = rendezvous_answer::decoded(*message);
      if (answer.is == rendezvous_answer::kind::complete) return std::move(answer.members);
      if (answer.is == rendezvous_answer::kind::refused)
        throw communicator_error({.what = "the rendezvous has refused this process",
                                  .where = at.text(),
                                  .expected = "a process of the job",
                                  .got = quote_for_error(answer.text)});
      joined = answer.joined;
      if (joined > 1) permanent.reset();  // a service that others have joined, too, knows the secret
      members = text_of({joined, answer.text.empty() ? "" : "; ", quote_for_error(answer.text)});
      continue;
    }
    int wait_ms = 20;
    if (stream && !stream->failure().empty()) {
      last = {stream->failure(), stream->failure_cause()};
      if (last->due_to != secure_stream::cause::network) permanent = last;
      stream.reset();
      joined = 0;
      wait_ms = 100;  // the service may begin later
    } else if (stream && joined == 0 && clock::now() >= attempt_limit) {
      last = {stream->is_connected() ? silent_program
                                     : text_of({"no answer in ", time_of_attempt.count(), " ms"})};
      stream.reset();
      if (attempt % addresses.size() == 0) time_of_attempt *= 2;
      continue;
    }
    pollfd answer{stream ? stream->descriptor() : -1, POLLIN, 0};
    ::poll(&answer, 1, wait_ms);  // bounded: 100 ms, for which connections to the entrance wait, too
  }
  auto const failed_because = [&](clause expected, std::string why) -> refusal {
    if (!members.empty()) why += text_of({"; the processes that had joined were ", members});
    return {.what = "cannot join the rendezvous",
            .where = at.text(),
            .expected = std::move(expected),
            .got = std::move(why)};
  };
  if (permanent && permanent->due_to == secure_stream::cause::identity)
    throw setting_error(failed_because(
        "a service with the same secret, or a certificate of the same authority", permanent->why));
  if (permanent)
    throw setting_error(
        failed_because("a rendezvous of Cohort at this port, not another program", permanent->why));
  if (!members.empty()) {
    std::string const lost =
        joined == 0 && last ? text_of({"; then the rendezvous was lost: ", last->why}) : "";
    throw communicator_error({.what = "not all processes of the job have joined in time",
                              .where = {"rendezvous ", at.text()},
                              .expected = {mine.ranks, " processes within ", deadline.count(), " ms"},
                              .got = {members, lost}});
  }
  bool const is_silent = stream && stream->is_connected();
  throw communicator_error(failed_because({"a service that answers within ", deadline.count(),
                                           " ms: a process on that host, and no firewall in between"},
                                          is_silent ? silent_program
                                          : last    ? last->why
                                                    : "no answer"));
}

}  // namespace cohort::detail
