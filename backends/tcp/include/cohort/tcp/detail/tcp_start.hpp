// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tcp.hpp>
#include <cohort/tcp/detail/rendezvous.hpp>
#include <optional>
#include <vector>

namespace cohort::detail {

/// Sockets, membership and identity of a process that becomes a rank.
struct tcp_start {
  std::optional<rendezvous_service> service{};
  acceptor entrance{};
  tcp_membership members{};
  tls_identity identity{};
};

/// Returns the key or the certificates of the settings.
///
/// Errors    setting_error for settings that contradict each other; as tls_identity and key_from_file.
tls_identity identity_of(tcp_settings const& from);

/// Listens on the addresses, except those that the system does not let this process use (an address of IPv6
/// is tentative at first), which are logged. If there is no other one, tries again until `limit`.
///
/// Errors    setting_error if no port of the range is free for 5 s, or until `limit`. socket_error without an
///           address at `limit`.
std::vector<tcp_socket> listen_on(std::vector<endpoint> const& addresses, port_range ports,
                                  std::chrono::steady_clock::time_point limit, sink const& log);

/// Errors    setting_error for an address outside of the loopback interface whose connections would not be
///           encrypted, unless the settings allow it.
void require_encryption(tcp_settings const& from, tls_identity const& identity,
                        std::vector<endpoint> const& addresses);

/// Joins the rendezvous, after starting it if that is this process's part.
///
/// Errors    as make_tcp.
void join(tcp_start& start, tcp_settings const& from, communicator_settings const& how);

}  // namespace cohort::detail
