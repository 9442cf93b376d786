// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cerrno>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/host_identity.hpp>
#include <cohort/tcp/detail/tcp_start.hpp>
#include <cstring>
#include <utility>

namespace cohort::detail {

COHORT_TCP_INLINE tls_identity identity_of(tcp_settings const& from) {
  bool const has_certificates = !from.certificate.empty() || !from.key.empty() || !from.authorities.empty();
  auto const refuse = [](char const* what, char const* expected, char const* got) {
    throw setting_error({.what = what, .where = "tcp_settings", .expected = expected, .got = got});
  };
  if (from.encryption == tcp_encryption::off) return {};
  if (has_certificates && !from.secret_file.empty())
    refuse("a job has a secret and certificates", "secret_file, or certificate, key and authorities", "both");
  if (has_certificates && (from.certificate.empty() || from.key.empty() || from.authorities.empty()))
    refuse("a certificate is not complete", "certificate, key and authorities", "only some of them");
  if (has_certificates) return {from.certificate, from.key, from.authorities};
  if (!from.secret_file.empty()) return {key_from_file(from.secret_file, from.job), "cohort " + from.job};
  return {};
}

COHORT_TCP_INLINE void check_tcp(tcp_settings const& from) {
  auto const refuse = [](char const* where, char const* expected, std::string got) {
    throw setting_error({.what = "a setting of the ranks over TCP is not valid",
                         .where = where,
                         .expected = expected,
                         .got = std::move(got)});
  };
  if (from.join.empty())
    refuse("join", "HOST:PORT of the rendezvous (tcp_settings::join, or COHORT_JOIN)", "nothing");
  if (from.ranks < 1)
    refuse("ranks", "the number of processes (tcp_settings::ranks, or COHORT_RANKS)", std::to_string(from.ranks));
  if (from.rank >= from.ranks)
    refuse("rank", "a number below that of the ranks", std::to_string(from.rank));
}

COHORT_TCP_INLINE void require_encryption(tcp_settings const& from, tls_identity const& identity,
                                          std::vector<endpoint> const& addresses) {
  if (identity.encrypts() || from.encryption == tcp_encryption::off) return;
  for (endpoint const& one : addresses)
    if (!one.is_loopback())
      throw setting_error(
          {.what = "connections between hosts are neither encrypted nor authenticated",
           .where = one.host(),
           .expected = "a secret (COHORT_SECRET_FILE), certificates, or tcp_encryption::off in a network that "
                       "only the job's processes can use",
           .got = "none"});
}

/// Runs the rendezvous if its address is one of this host, and no process listens there yet.
COHORT_TCP_INLINE void host_rendezvous(tcp_start& start, std::vector<endpoint> const& at,
                                       tcp_settings const& from, sink const& log) {
  std::vector<endpoint> const ours = local_addresses("");
  for (endpoint const& one : at) {
    bool const is_ours = std::ranges::any_of(ours, [&](endpoint const& o) { return o.host() == one.host(); });
    if (!is_ours) continue;
    if (std::optional<tcp_socket> listening = tcp_socket::listening_alone(one))
      start.service.emplace(*std::move(listening), start.identity, from.job, from.ranks, log);
    return;
  }
}

/// The address of this host from which it reaches another one.
COHORT_TCP_INLINE endpoint address_towards(endpoint const& other) {
  // A datagram socket that is connected sends nothing, but has the address that the system selects.
  tcp_socket const probe(::socket(other.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe.is_open() || ::connect(probe.descriptor(), other.address(), other.bytes()) != 0)
    throw communicator_error({.what = "there is no route to the rendezvous",
                              .where = other.text(),
                              .expected = "a network that reaches it",
                              .got = std::strerror(errno)});
  return probe.local().with_port(0);
}

COHORT_TCP_INLINE void join(tcp_start& start, tcp_settings const& from, communicator_settings const& how) {
  check_tcp(from);
  host_and_port const at = host_and_port::parse(from.join, "join");
  std::vector<endpoint> const meeting = resolved(at);
  start.identity = identity_of(from);
  std::vector<endpoint> addresses;
  if (from.interfaces.empty())
    addresses.push_back(address_towards(meeting.front()));
  else
    addresses = local_addresses(from.interfaces);
  require_encryption(from, start.identity, addresses);
  host_rendezvous(start, meeting, from, how.log);
  registration mine{.job = from.job,
                    .host = host_identity(),
                    .ranks = from.ranks,
                    .rank = from.rank};
  for (endpoint const& one : addresses) {
    start.listening.push_back(tcp_socket::listening(one, port_range::parse(from.ports)));
    mine.addresses.push_back(start.listening.back().local());
  }
  start.members = join_rendezvous(at, start.identity, mine, how.deadline);
}

}  // namespace cohort::detail
