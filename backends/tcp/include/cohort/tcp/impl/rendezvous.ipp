// SPDX-License-Identifier: Apache-2.0
#include <linux/sockios.h>
#include <openssl/rand.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp/detail/message_bytes.hpp>
#include <cohort/tcp/detail/rendezvous.hpp>
#include <cstring>
#include <map>
#include <utility>

namespace cohort::detail {

inline constexpr std::string_view rendezvous_mark = "cohort rendezvous 3";

std::vector<std::byte> registration::encoded() const {
  message_bytes to;
  to.put(std::string(rendezvous_mark));
  to.put(job);
  to.put(host);
  to.put(static_cast<std::uint32_t>(ranks));
  to.put(static_cast<std::uint32_t>(rank + 1));
  to.put(addresses);
  to.put(problem);
  return std::move(to.written);
}

registration registration::decoded(std::span<std::byte const> bytes) {
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
  made.addresses = from.addresses();
  made.problem = from.text();
  from.end();
  return made;
}

void put_members(message_bytes& to, tcp_membership const& members) {
  to.put(static_cast<std::uint32_t>(members.rank));
  to.put(std::span<std::byte const>(members.token));
  to.put(static_cast<std::uint32_t>(members.ranks.size()));
  for (std::size_t r = 0; r < members.ranks.size(); ++r) {
    to.put(members.ranks[r]);
    to.put(members.hosts[r]);
  }
}

tcp_membership members_in(message_bytes& from) {
  tcp_membership found{.rank = static_cast<int>(from.number<std::uint32_t>())};
  std::span<std::byte const> const token = from.bytes();
  for (std::uint32_t left = from.count(sizeof(std::uint32_t)); left > 0; --left) {
    found.ranks.push_back(from.addresses());
    found.hosts.push_back(from.number<std::uint32_t>());
  }
  if (token.size() != found.token.size() || found.rank < 0
      || (!found.ranks.empty() && found.rank >= std::ssize(found.ranks)))
    throw communicator_error({.what = "an answer of the rendezvous is damaged",
                              .expected = "a rank of the job",
                              .got = {"rank ", found.rank, " of ", found.ranks.size()}});
  std::ranges::copy(token, found.token.begin());
  return found;
}

std::vector<std::byte> rendezvous_answer::encoded() const {
  message_bytes to;
  to.put(static_cast<std::uint8_t>(is));
  to.put(static_cast<std::uint32_t>(joined));
  to.put(text);
  put_members(to, members);
  return std::move(to.written);
}

rendezvous_answer rendezvous_answer::decoded(std::span<std::byte const> bytes) {
  message_bytes from(bytes);
  rendezvous_answer found{.is = static_cast<kind>(from.number<std::uint8_t>()),
                          .joined = static_cast<int>(from.number<std::uint32_t>()),
                          .text = from.text(),
                          .members = members_in(from)};
  from.end();
  if (found.is > kind::other_job || (found.is == kind::complete && found.members.ranks.empty()))
    throw communicator_error({.what = "an answer of the rendezvous is damaged",
                              .expected = "a rank of the job",
                              .got = {"rank ", found.members.rank, " of ", found.members.ranks.size()}});
  return found;
}

void message_stream::send(std::span<std::byte const> message) {
  std::byte size[4];
  put_number(size, static_cast<std::uint32_t>(message.size()));
  out_.insert(out_.end(), size, size + sizeof size);
  out_.insert(out_.end(), message.begin(), message.end());
}

std::optional<std::vector<std::byte>> message_stream::advance() {
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
    if (in_.size() >= 4 && number_at<std::uint32_t>(in_.data()) > most_) {
      bool const is_tls = in_[0] == std::byte{22} && in_[1] == std::byte{3};  // a handshake record of TLS
      return is_tls ? fail("it uses TLS", secure_stream::cause::encryption)
                    : fail("a message is too long", secure_stream::cause::protocol);
    }
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

rendezvous_service::rendezvous_service(tcp_socket listening, tls_identity identity, std::string job,
                                       int ranks, sink log)
    : listening_(std::move(listening)),
      identity_(std::move(identity)),
      job_(std::move(job)),
      ranks_(ranks),
      log_(std::move(log)),
      thread_([this] { run(); }) {}

rendezvous_service::~rendezvous_service() {
  stops_ = true;
  thread_.join();  // bounded: by time_to_answer
}

void rendezvous_service::log_line(std::string_view line) noexcept try {
  constexpr int most_lines = 20;
  if (log_ && ++lines_ <= most_lines)
    log_(text_of({"rendezvous: ", line, lines_ == most_lines ? "; further messages are not printed" : ""}));
} catch (...) {
}

void rendezvous_service::run() noexcept {
  for (std::optional<clock::time_point> end; !end || clock::now() < *end;) {
    if (stops_ && !complete_ && problem_.empty()) return;
    if (stops_ && !end) end = clock::now() + (complete_ ? time_to_answer : time_to_report);
    try {
      if (advance()) return;
      bool const accepts = clock::now() >= next_accept_;
      std::vector<pollfd> all{{accepts ? listening_.descriptor() : -1, POLLIN, 0}};
      for (connection const& one : connections_)
        all.push_back({one.stream.descriptor(),
                       static_cast<short>(one.stream.is_flushed() ? POLLIN : POLLIN | POLLOUT), 0});
      constexpr int longest_ms = 20;
      ::poll(all.data(), all.size(), longest_ms);  // bounded: 20 ms
      for (std::size_t k = 0; k < connections_.size(); ++k)
        connections_[k].has_sent = connections_[k].has_sent || (all[k + 1].revents & POLLIN) != 0;
    } catch (std::exception const& problem) {
      log_line(problem.what());
      ::poll(nullptr, 0, 20);  // bounded: 20 ms; memory may be free afterwards
    }
  }
}

void rendezvous_service::log_lost(connection const& one, std::string why) {
  secure_stream::cause const due_to = one.stream.failure_cause();
  if (due_to == secure_stream::cause::job && identity_.requires_key())
    why = text_of({"its job is not ", quote_for_error(job_), " (COHORT_JOB), or it has no secret"});
  else if (due_to == secure_stream::cause::identity || due_to == secure_stream::cause::job)
    why = "it does not have the secret or certificate of the job";
  if (!why.empty()) last_refused_ = {.host = one.from.host(), .why = why};
  log_end(one, "lost ", text_of({why, why.empty() ? "" : ", ", one.stream.failure()}));
}

void rendezvous_service::log_end(connection const& one, char const* how, std::string const& why) {
  constexpr std::size_t most_logged = 20;
  if (logged_.size() < most_logged && logged_.insert(one.from.host() + ": " + why).second)
    log_line(text_of({how, one.from.text(), ": ", why}));
}

std::string rendezvous_service::answer_other_encryption(connection const& one) const {
  bool const encrypts = identity_.encrypts();
  std::byte rest[most_registration];
  ssize_t const count = ::recv(one.stream.descriptor(), rest, sizeof rest, MSG_DONTWAIT);
  std::string_view const sent(reinterpret_cast<char const*>(rest),
                              static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  bool const is_ours = encrypts ? one.stream.failure_cause() == secure_stream::cause::protocol
                                      && sent.find(rendezvous_mark) != sent.npos
                                : one.stream.failure_cause() == secure_stream::cause::encryption;
  if (!is_ours) return "";
  std::vector<std::byte> answer;
  if (encrypts) {
    message_bytes message;
    message.put(std::span<std::byte const>(rendezvous_answer{
        .is = rendezvous_answer::kind::misconfigured,
        .text = "the ranks differ in their encryption: the process that runs the rendezvous "
                "encrypts, and this process does not; unset COHORT_ENCRYPTION here, and set "
                "COHORT_SECRET_FILE or the certificates, as on the other ranks"}
                                               .encoded()));
    answer = std::move(message.written);
  } else {
    for (int const one_byte : {21, 3, 3, 0, 2, 2, 71})  // TLS: the fatal alert insufficient_security
      answer.push_back(static_cast<std::byte>(one_byte));
  }
  ::send(one.stream.descriptor(), answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return encrypts
             ? "it does not encrypt (COHORT_ENCRYPTION is off, or it has no secret), and this process does"
             : "it encrypts, and this process does not (COHORT_ENCRYPTION is off, or it has no secret)";
}

void rendezvous_service::send_refusal(connection& one, rendezvous_answer::kind as, std::string const& why) {
  one.stream.send(rendezvous_answer{.is = as, .text = why}.encoded());
  one.stream.advance();
  one.is = connection::state::ended;
}

void rendezvous_service::refuse(connection& one, rendezvous_answer::kind as, std::string const& why) {
  log_end(one, "refused ", why);
  if (as != rendezvous_answer::kind::refused)
    last_refused_ = {.host = one.from.host(), .rank = one.wants.rank, .why = why};
  has_changed_ = true;
  send_refusal(one, as, why);
}

void rendezvous_service::refuse_all(connection& one, std::string why) {
  problem_ = std::move(why);
  refuse(one, rendezvous_answer::kind::misconfigured, problem_);
  for (connection& other : connections_)
    if (other.is_member()) send_refusal(other, rendezvous_answer::kind::misconfigured, problem_);
}

void rendezvous_service::read(connection& one) {
  constexpr auto refused = rendezvous_answer::kind::refused;
  std::optional<std::vector<std::byte>> const message = one.stream.advance();
  if (!one.stream.failure().empty()) {
    if (!complete_) log_lost(one, answer_other_encryption(one));
    has_changed_ = true;
    one.is = connection::state::ended;
    return;
  }
  if (!message) {
    if (one.is == connection::state::claims) return decide_claim(one);
    if (one.is == connection::state::unregistered && clock::now() >= one.accepted + time_to_register)
      refuse(one, refused, "no registration has arrived in time");
    return;
  }
  if (one.is != connection::state::unregistered)
    return refuse(one, refused, "it has registered twice on one connection");
  try {
    one.wants = registration::decoded(*message);
  } catch (communicator_error const& damaged) {
    return refuse(one, refused, damaged.what());
  }
  admit(one);
}

rendezvous_service::connection* rendezvous_service::member_of_rank(int rank) {
  auto const found = std::ranges::find_if(connections_, [&](connection const& one) {
    return one.is_member() && rank >= 0 && one.wants.rank == rank;
  });
  return found == connections_.end() ? nullptr : &*found;
}

bool rendezvous_service::is_reached(connection const& one) {
  int pending = 0;
  return one.stream.is_flushed() && ::ioctl(one.stream.descriptor(), SIOCOUTQ, &pending) == 0 && pending == 0;
}

void rendezvous_service::decide_claim(connection& one) {
  connection* const other = member_of_rank(one.wants.rank);
  if (other && clock::now() < one.claimed + claim_grace) return;
  if (other) {
    if (is_reached(*other))
      return refuse(one, rendezvous_answer::kind::misconfigured,
                    text_of({"rank ", one.wants.rank, " has already joined from ", other->from.text(),
                             "; give each process its own COHORT_RANK"}));
    log_line(text_of({"lost ", other->from.text(), ": it does not answer, and rank ", one.wants.rank,
                      " has begun again"}));
    other->is = connection::state::ended;
  }
  admit(one);
}

void rendezvous_service::admit(connection& one) {
  constexpr auto refused = rendezvous_answer::kind::refused;
  constexpr auto misconfigured = rendezvous_answer::kind::misconfigured;
  registration const& wants = one.wants;
  if (wants.job != job_)
    return refuse(one, rendezvous_answer::kind::other_job,
                  text_of({"the job of the rendezvous is ", quote_for_error(job_),
                           ", and that of the process ", quote_for_error(wants.job), " (COHORT_JOB)"}));
  if (complete_) return refuse(one, refused, "the job has all of its ranks");
  if (!problem_.empty()) return refuse(one, misconfigured, problem_);
  // A process that registers again may have closed its first connection.
  if (count_members() + 1 >= ranks_ || member_of_rank(wants.rank)) end_lost_members();
  int const joined = count_members() + 1;
  if (connection* const other = member_of_rank(wants.rank)) {
    other->stream.send(rendezvous_answer{.joined = joined - 1, .text = membership_text()}.encoded());
    other->stream.advance();
    one.is = connection::state::claims;
    one.claimed = clock::now();
    return;
  }
  std::string const name = wants.rank < 0 ? "the process at " + one.from.host()
                                          : text_of({"rank ", wants.rank, " (", one.from.host(), ")"});
  std::string misfit;
  if (!wants.problem.empty())
    misfit = text_of({name, ": ", make_printable(wants.problem)});
  else if (wants.ranks != ranks_)
    misfit = text_of({"the job has ", ranks_, " ranks in the process that runs the rendezvous, and ",
                      wants.ranks, " in ", name, "; set COHORT_RANKS to the same number on all ranks"});
  // Without encryption, every process that reaches the service could end the job.
  if (!misfit.empty())
    return identity_.encrypts() ? refuse_all(one, misfit) : refuse(one, misconfigured, misfit);
  if (wants.rank >= ranks_ || wants.addresses.empty())
    return refuse(one, refused, "it has no valid rank or address");
  for (connection const& other : connections_)
    if (other.is_member() && (wants.rank >= 0) != (other.wants.rank >= 0))
      return refuse(one, misconfigured, "set COHORT_RANK on all processes or on none");
  if (joined > ranks_) return refuse(one, refused, "the job has all of its ranks");
  one.is = connection::state::member;
  one.arrival = ++arrivals_;
  bool const was_refused =
      wants.rank >= 0 && last_refused_.rank == wants.rank && last_refused_.host == one.from.host();
  if (was_refused) last_refused_ = {};
  has_changed_ = true;
}

int rendezvous_service::count_members() const {
  return static_cast<int>(std::ranges::count_if(connections_, &connection::is_member));
}

void rendezvous_service::end_lost_members() {
  for (connection& one : connections_) {
    if (!one.is_member()) continue;
    one.stream.advance();
    if (one.stream.failure().empty()) continue;
    one.is = connection::state::ended;
    log_lost(one, "");
  }
}

void rendezvous_service::send_progress() {
  auto const now = clock::now();
  if (complete_ || !has_changed_ || now < next_progress_) return;
  has_changed_ = false;
  int const joined = count_members();
  next_progress_ = now + time_between_progress;
  if (joined == 0) return;
  std::string const text = membership_text();
  for (connection& one : connections_) {
    if (!one.is_member() || one.last_text == text) continue;
    one.last_text = text;
    one.stream.send(rendezvous_answer{.joined = joined, .text = text}.encoded());
  }
}

std::string rendezvous_service::membership_text() const {
  constexpr std::size_t most_names = 8;
  std::vector<bool> has_joined(static_cast<std::size_t>(ranks_));
  std::map<std::string, int> processes;  // number of processes by address
  bool has_numbers = false;
  for (connection const& one : connections_) {
    if (!one.is_member()) continue;
    ++processes[one.from.host()];
    if (one.wants.rank < 0) continue;
    has_numbers = true;
    has_joined[static_cast<std::size_t>(one.wants.rank)] = true;
  }
  std::vector<std::string> names;
  for (std::size_t rank = 0; has_numbers && rank < has_joined.size(); ++rank)
    if (!has_joined[rank]) names.push_back(std::to_string(rank));
  for (auto const& [address, count] : processes)
    if (!has_numbers) names.push_back(text_of({count, " from ", address}));
  std::string made = !has_numbers        ? "joined: "
                     : names.empty()     ? "missing: none"
                     : names.size() == 1 ? "missing: rank "
                                         : "missing: ranks ";
  for (std::size_t k = 0; k < std::min(names.size(), most_names); ++k)
    made += text_of({k > 0 ? ", " : "", names[k]});
  if (names.size() > most_names) made += text_of({" and ", names.size() - most_names, " others"});
  if (!last_refused_.why.empty())
    made += text_of({"; refused ", last_refused_.host, ": ", last_refused_.why});
  return made;
}

void rendezvous_service::complete() {
  auto const claims = [](connection const& one) { return one.is == connection::state::claims; };
  if (complete_ || count_members() < ranks_ || std::ranges::any_of(connections_, claims)) return;
  end_lost_members();
  if (count_members() < ranks_) return;
  std::vector<connection*> members;
  for (connection& one : connections_)
    if (one.is_member()) members.push_back(&one);
  std::ranges::sort(members, {}, [](connection const* one) {
    return std::tuple(one->wants.rank, one->wants.host, one->arrival);
  });
  rendezvous_answer answer{.is = rendezvous_answer::kind::complete, .joined = ranks_};
  for (connection const* one : members) {
    answer.members.ranks.push_back(one->wants.addresses);
    auto const first = std::ranges::find_if(
        members, [&](connection const* other) { return other->wants.host == one->wants.host; });
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

bool rendezvous_service::close_one(std::string_view why) {
  auto const found = first_to_close(connections_, clock::now(), std::mem_fn(&connection::is_unknown));
  if (found == connections_.end()) return false;
  log_line(text_of({"closed ", found->from.text(), ": ", why}));
  connections_.erase(found);
  return true;
}

void rendezvous_service::accept_connections() {
  if (clock::now() < next_accept_) return;
  auto unregistered = std::ranges::count_if(connections_, &connection::is_unknown);
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
    connections_.push_back(
        {.stream = message_stream(secure_stream(*std::move(made), secure_stream::role::server, identity_),
                                  most_registration),
         .from = from,
         .accepted = clock::now(),
         .has_sent = has_sent});
    if (has_sent) read(connections_.back());
    unregistered += connections_.back().is_unknown();
    if (unregistered <= most_unregistered) continue;
    close_one("there are too many connections of unknown processes");
    --unregistered;
  }
}

bool rendezvous_service::advance() {
  accept_connections();
  for (connection& one : connections_)
    if (one.is != connection::state::ended) read(one);
  complete();
  send_progress();
  std::erase_if(connections_, [](connection const& one) { return one.is == connection::state::ended; });
  bool waits = !complete_;
  for (connection const& one : connections_) waits = waits || (one.is_member() && !one.stream.is_flushed());
  return !waits;
}

/// Returns whether `cohort run` has restarted the job: its name then ends with a space and a number.
bool is_restart(std::string_view job) {
  std::size_t const last = job.find_last_not_of("0123456789");
  return last != job.npos && last + 1 < job.size() && job[last] == ' ';
}

tcp_membership join_rendezvous(host_and_port const& at, tls_identity const& identity,
                               registration const& mine, std::chrono::milliseconds deadline,
                               std::function<void()> const& retry, acceptor* entrance) {
  using clock = std::chrono::steady_clock;
  auto const end = clock::now() + deadline;
  struct failure {
    std::string why;
    secure_stream::cause due_to = secure_stream::cause::network;
  };
  std::optional<failure> last, permanent;                 // permanent: a new attempt would fail, too
  clock::time_point limit = end;                          // end, or earlier if a service refuses repeatedly
  constexpr auto time_to_end = std::chrono::seconds(10);  // time in which an earlier job's service ends
  std::optional<message_stream> stream;
  std::size_t attempt = 0;
  int joined = 0;       // last reported on this connection
  std::string members;  // last reported on any connection
  constexpr auto time_between_questions = std::chrono::seconds(1);
  clock::time_point next_question{};
  std::string const silent_program = "a program that accepts connections and does not answer";
  std::vector<endpoint> addresses;
  std::chrono::milliseconds time_of_attempt(3000);  // limit of an attempt without an answer
  clock::time_point attempt_limit{};
  while (clock::now() < limit) {
    if (entrance) entrance->advance(1);
    if (!stream) try {
        if (attempt > 0) retry();
        if (clock::now() >= next_question) {  // after a restart, the host may have another address
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
    std::optional<failure> failed;
    if (message) {
      rendezvous_answer answer = rendezvous_answer::decoded(*message);
      if (answer.is == rendezvous_answer::kind::complete) return std::move(answer.members);
      if (answer.is == rendezvous_answer::kind::refused)
        throw communicator_error({.what = "the rendezvous has refused this process",
                                  .where = at.text(),
                                  .expected = "a process of the job",
                                  .got = make_printable(answer.text)});
      if (answer.is == rendezvous_answer::kind::misconfigured)
        throw setting_error({.what = "the processes of the job have invalid or contradictory settings",
                             .where = {"rendezvous ", at.text()},
                             .got = make_printable(answer.text)});
      if (answer.is == rendezvous_answer::kind::waits) {
        limit = end;
        joined = answer.joined;
        if (joined > 1) permanent.reset();  // others have joined: the service knows the secret
        members = text_of({joined, "; ", make_printable(answer.text)});
        continue;
      }
      failed = {make_printable(answer.text), secure_stream::cause::job};
    } else if (stream && !stream->failure().empty()) {
      failed = {stream->failure(), stream->failure_cause()};
      if (failed->due_to == secure_stream::cause::job) {
        if (identity.requires_key())
          failed->why.insert(0, "a rendezvous that belongs to another job or uses certificates: ");
        else
          failed->due_to = secure_stream::cause::identity;
      }
      if (!stream->is_connected()) limit = end;
    }
    int wait_ms = 20;
    if (failed) {
      last = failed;
      bool const is_earlier_start = last->due_to == secure_stream::cause::job && is_restart(mine.job);
      if (last->due_to != secure_stream::cause::network && !is_earlier_start) {  // the earlier start will end
        permanent = last;
        limit = std::min(limit, clock::now() + time_to_end);
      }
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
    ::poll(&answer, 1, wait_ms);  // bounded: 100 ms; delays the entrance, too
  }
  auto const failed_because = [&](clause expected, std::string why) -> refusal {
    if (!members.empty()) why += text_of({"; the processes that had joined were ", members});
    return {.what = "cannot join the rendezvous",
            .where = at.text(),
            .expected = std::move(expected),
            .got = std::move(why)};
  };
  auto const is_due_to = [&](secure_stream::cause one) { return permanent && permanent->due_to == one; };
  if (is_due_to(secure_stream::cause::encryption))
    throw setting_error(
        failed_because("a service that encrypts, as this process does: unset COHORT_ENCRYPTION, and set "
                       "COHORT_SECRET_FILE or the certificates, on all ranks",
                       "a rendezvous that does not encrypt"));
  auto const of_other_job = [&](failure const& one) {
    return failed_because(
        {"a service of the job ", quote_for_error(mine.job), identity.requires_key() ? ", with a secret" : "",
         ": set COHORT_JOB to the same name on all ranks"},
        one.why);
  };
  if (is_due_to(secure_stream::cause::job)) throw setting_error(of_other_job(*permanent));
  if (is_due_to(secure_stream::cause::identity))
    throw setting_error(failed_because(
        identity.requires_key() ? "a service with the same secret: copy one COHORT_SECRET_FILE to all hosts"
                                : "a service with a certificate of the same authority",
        permanent->why));
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
  if (last && last->due_to == secure_stream::cause::job) throw communicator_error(of_other_job(*last));
  bool const is_silent = stream && stream->is_connected();
  throw communicator_error(failed_because({"a service that answers within ", deadline.count(),
                                           " ms: a process on that host, and no firewall in between"},
                                          is_silent ? silent_program
                                          : last    ? last->why
                                                    : "no answer"));
}

}  // namespace cohort::detail
