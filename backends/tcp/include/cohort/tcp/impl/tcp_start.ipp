// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/host_identity.hpp>
#include <cohort/tcp/detail/tcp_start.hpp>
#include <cstring>
#include <utility>

namespace cohort::detail {

tls_identity identity_of(tcp_settings const& from) {
  bool const has_certificates = !from.certificate.empty() || !from.key.empty() || !from.authorities.empty();
  auto const refuse = [](char const* what, char const* expected, char const* got) {
    throw setting_error({.what = what, .where = "tcp_settings", .expected = expected, .got = got});
  };
  if (from.encryption == tcp_encryption::off) {
    if (has_certificates || !from.secret_file.empty())
      refuse("a job has a secret or certificates, and its encryption is off",
             "either of them: unset COHORT_ENCRYPTION, or COHORT_SECRET_FILE and the certificates", "both");
    return {};
  }
  if (has_certificates && !from.secret_file.empty())
    refuse("a job has a secret and certificates", "secret_file, or certificate, key and authorities", "both");
  if (has_certificates && (from.certificate.empty() || from.key.empty() || from.authorities.empty()))
    refuse("a certificate is not complete", "certificate, key and authorities", "only some of them");
  if (has_certificates) return {from.certificate, from.key, from.authorities};
  if (!from.secret_file.empty()) return {key_from_file(from.secret_file, from.job), "cohort " + from.job};
  return {};
}

void check_tcp(tcp_settings const& from) {
  auto const refuse = [](char const* where, clause expected, std::string got) {
    throw setting_error({.what = "a setting of the ranks over TCP is not valid",
                         .where = where,
                         .expected = std::move(expected),
                         .got = std::move(got)});
  };
  if (from.join.empty())
    refuse("join", "HOST:PORT of the rendezvous (tcp_settings::join, or COHORT_JOIN)", "nothing");
  if (from.ranks < 1)
    refuse("ranks", "the number of processes (tcp_settings::ranks, or COHORT_RANKS)",
           std::to_string(from.ranks));
  if (from.ranks > most_ranks)
    refuse("ranks", {"at most ", most_ranks, " processes"}, std::to_string(from.ranks));
  if (from.min_ranks > from.ranks)
    refuse("min_ranks", {"at most ", from.ranks, " (ranks)"}, std::to_string(from.min_ranks));
  if (from.max_ranks > most_ranks || (from.max_ranks > 0 && from.max_ranks < from.ranks))
    refuse("max_ranks", {from.ranks, " (ranks) to ", most_ranks}, std::to_string(from.max_ranks));
  if (from.max_ranks > 0 && from.min_ranks == 0)
    refuse("min_ranks", "the least number of ranks, beside max_ranks", "0");
  if (from.rank >= from.ranks) refuse("rank", "a number below that of the ranks", std::to_string(from.rank));
}

void require_encryption(tcp_settings const& from, tls_identity const& identity,
                        std::vector<endpoint> const& addresses) {
  if (identity.encrypts() || from.encryption == tcp_encryption::off) return;
  for (endpoint const& one : addresses)
    if (!one.is_loopback())
      throw setting_error({.what = "connections between hosts are neither encrypted nor authenticated",
                           .where = one.host(),
                           .expected =
                               "a secret (cohort run --secret FILE, or COHORT_SECRET_FILE), certificates, or "
                               "tcp_encryption::off in a network that only the job's processes can use",
                           .got = "none"});
}

std::optional<tcp_socket> listen_at_meeting(std::vector<endpoint> const& meeting) {
  std::vector<endpoint> const ours = local_addresses("");
  for (endpoint const& one : meeting)
    if (one.is_loopback()
        || std::ranges::any_of(ours, [&](endpoint const& o) { return o.host() == one.host(); }))
      return tcp_socket::listening_alone(one);
  return std::nullopt;
}

/// Returns this host's source address for packets to `other`, with port 0; nullopt without a route.
std::optional<endpoint> address_towards(endpoint const& other) {
  // Connecting a datagram socket sends nothing, but makes the system select its local address.
  tcp_socket const probe(::socket(other.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  require_descriptor(probe.descriptor(), "the address of this host");
  if (::connect(probe.descriptor(), other.address(), other.bytes()) != 0) return std::nullopt;
  return probe.local().with_port(0);
}

std::vector<tcp_socket> listen_on(std::vector<endpoint> const& addresses, port_range ports,
                                  std::chrono::steady_clock::time_point limit, sink const& log) {
  // A process of the previous start may still occupy a port.
  auto const limit_of_ports = std::min(limit, std::chrono::steady_clock::now() + std::chrono::seconds(5));
  while (true) {
    std::vector<tcp_socket> made;
    std::optional<socket_error> last;
    std::vector<std::string> lines;
    bool is_busy = false;
    for (endpoint const& one : addresses) try {
        made.push_back(tcp_socket::listening(one, ports));
      } catch (socket_error const& problem) {
        int const count = ports.last - ports.first + 1;
        is_busy = ports.first != 0 && problem.reason == EADDRINUSE
                  && std::chrono::steady_clock::now() < limit_of_ports;
        if (is_busy) break;
        if (ports.first != 0 && (problem.reason == EADDRINUSE || problem.reason == EACCES))
          throw setting_error(
              {.what = "there is no port to listen on",
               .where = one.host(),
               .expected = {"a free port of COHORT_PORTS (", ports.text(),
                            "), at least one for each rank of this host"},
               .got = {count, count == 1 ? " port" : " ports", "; the last one: ", problem.why().got}});
        if (problem.reason != EADDRNOTAVAIL) throw;
        last.emplace(problem);
        lines.push_back(text_of({"this process does not listen on ", one.host(), ": ", problem.why().got}));
      }
    bool const ends = !is_busy && (!made.empty() || std::chrono::steady_clock::now() >= limit);
    for (std::string const& line : lines)
      if (ends && log) log(line);
    if (made.empty() && ends) throw *last;
    if (ends) return made;
    ::poll(nullptr, 0, 200);  // bounded: 200 ms
  }
}

/// Returns the addresses at which other hosts reach the rendezvous. On Debian and Ubuntu, /etc/hosts maps a
/// host's own name to 127.0.1.1; the address of the default route replaces such a loopback address.
std::vector<endpoint> visible_addresses(host_and_port const& at, std::vector<endpoint> found) {
  sockaddr_storage storage{};
  bool const is_number = ::inet_pton(AF_INET, at.host.c_str(), &storage) == 1
                         || ::inet_pton(AF_INET6, at.host.c_str(), &storage) == 1;
  bool const is_loopback = std::ranges::all_of(found, [](endpoint const& one) { return one.is_loopback(); });
  if (is_number || at.host == "localhost" || !is_loopback) return found;
  // An address reserved for documentation (RFC 5737): the system selects the default route for it.
  endpoint const anywhere = resolve({"192.0.2.1", at.port}).front();
  if (std::optional<endpoint> const ours = address_towards(anywhere)) return {ours->with_port(at.port)};
  return found;
}

tcp_place place_of(tcp_settings const& from, std::chrono::steady_clock::time_point limit) {
  check_tcp(from);
  tcp_place place{.identity = identity_of(from),
                  .rendezvous = host_and_port::parse(from.join, "join"),
                  .host = host_identity()};
  std::vector<endpoint> const found = resolve(place.rendezvous, limit);
  place.meeting = visible_addresses(place.rendezvous, found);
  if (place.meeting != found) place.rendezvous = {place.meeting.front().host(), place.rendezvous.port};
  if (!from.interfaces.empty()) {
    place.own = local_addresses(from.interfaces);
  } else if (std::optional<endpoint> const ours = address_towards(place.meeting.front())) {
    place.own.push_back(*ours);
  } else {
    throw communicator_error({.what = "there is no route to the rendezvous",
                              .where = place.meeting.front().text(),
                              .expected = "a network that reaches it",
                              .got = std::strerror(errno)});
  }
  require_encryption(from, place.identity, place.own);
  require_encryption(from, place.identity, place.meeting);
  return place;
}

std::vector<endpoint> current_meeting(tcp_settings const& from, tcp_place const& place) {
  std::vector<endpoint> found = visible_addresses(place.rendezvous, resolve(place.rendezvous));
  require_encryption(from, place.identity, found);
  return found;
}

void join(tcp_start& start, tcp_settings const& from, communicator_settings const& how) {
  auto const limit = std::chrono::steady_clock::now() + how.deadline;
  tcp_place const place = place_of(from, limit);
  start.identity = place.identity;
  auto const host = [&] {
    if (start.service) return;
    if (std::optional<tcp_socket> listening = listen_at_meeting(place.meeting))
      start.service.emplace(*std::move(listening), start.identity, from.job, from.ranks, how.log);
  };
  host();
  registration mine{.job = from.job, .host = place.host, .ranks = from.ranks, .rank = from.rank};
  port_range const ports = port_range::parse(from.ports);
  std::vector<tcp_socket> listening;
  try {
    listening = listen_on(place.own, ports, limit, how.log);
  } catch (setting_error const& own) {
    mine.problem = own.what();
    constexpr std::chrono::milliseconds patience = std::chrono::seconds(5);
    try {  // so that the other ranks need not wait for this rank until their deadline
      join_rendezvous(place.rendezvous, start.identity, mine, std::min(how.deadline, patience));
    } catch (error const&) {
    }
    throw;
  }
  for (tcp_socket const& one : listening) mine.addresses.push_back(one.local());
  start.entrance = acceptor(std::move(listening), start.identity, how.log);
  start.members =
      join_rendezvous(place.rendezvous, start.identity, mine, how.deadline, host, &start.entrance);
  for (std::vector<endpoint>& others : start.members.ranks) {
    others = reached_from(mine.addresses, others);
    require_encryption(from, start.identity, others);
  }
  bool const is_open = !start.identity.encrypts() && from.encryption != tcp_encryption::off;
  if (is_open && start.members.rank == 0 && from.ranks > 1 && how.log)
    how.log(
        "the job has no secret: every user of this host can join it, and receive its data and model; "
        "start it by cohort run, or set COHORT_SECRET_FILE");
}

}  // namespace cohort::detail
