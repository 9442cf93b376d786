// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tcp.hpp>
#include <cohort/tcp/detail/rendezvous.hpp>
#include <optional>
#include <vector>

namespace cohort::detail {

/// The place at which a process of a job meets the others.
struct tcp_place {
  tls_identity identity{};
  host_and_port rendezvous{};       ///< its name
  std::vector<endpoint> meeting{};  ///< addresses of the rendezvous
  std::vector<endpoint> own{};      ///< addresses of this process, with port 0
  std::string host{};               ///< equal for the processes of one host
};

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

/// Listens on the addresses. Skips and logs addresses that are not available (new IPv6 addresses are
/// tentative at first). If none is available, tries again until `limit`.
///
/// Errors    setting_error if no port of the range becomes free within 5 s or until `limit`. socket_error if
///           no address is available at `limit`.
std::vector<tcp_socket> listen_on(std::vector<endpoint> const& addresses, port_range ports,
                                  std::chrono::steady_clock::time_point limit, sink const& log);

/// Throws setting_error if one of `addresses` is outside the loopback interface and its connections would not
/// be encrypted, unless the settings allow it.
void require_encryption(tcp_settings const& from, tls_identity const& identity,
                        std::vector<endpoint> const& addresses);

/// Returns the place of this process. Waits until `limit` for the name of the rendezvous.
///
/// Errors    as make_tcp.
tcp_place place_of(tcp_settings const& from, std::chrono::steady_clock::time_point limit);

/// Resolves the name of the rendezvous again.
///
/// Errors    communicator_error if the name is unknown; setting_error as make_tcp.
std::vector<endpoint> current_meeting(tcp_settings const& from, tcp_place const& place);

/// Listens at the rendezvous, if its address belongs to this host and no process listens there.
std::optional<tcp_socket> listen_at_meeting(std::vector<endpoint> const& meeting);

/// Joins the rendezvous. Starts it first if its address belongs to this host and no process listens there.
///
/// Errors    as make_tcp.
void join(tcp_start& start, tcp_settings const& from, communicator_settings const& how);

}  // namespace cohort::detail
