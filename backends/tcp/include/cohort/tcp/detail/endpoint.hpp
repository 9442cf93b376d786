// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>

#include <cohort/detail/build_check.hpp>
#include <cohort/detail/chrono.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// An IPv4 or IPv6 address with a port.
class endpoint {
 public:
  static constexpr std::size_t encoded_bytes = 19;  // family, address and port

  endpoint() = default;
  explicit endpoint(sockaddr_storage const& from) : address_(from) {}

  sockaddr const* address() const { return reinterpret_cast<sockaddr const*>(&address_); }
  socklen_t bytes() const { return is_v6() ? sizeof(sockaddr_in6) : sizeof(sockaddr_in); }
  int family() const { return address_.ss_family; }
  bool is_v6() const { return family() == AF_INET6; }
  bool is_loopback() const;
  /// Returns whether this is a link-local IPv6 address. Its scope is an interface of this host.
  bool is_link_local() const;
  std::uint32_t scope() const;
  endpoint with_scope(std::uint32_t scope) const;
  std::uint16_t port() const;
  /// Returns the same address with this port.
  endpoint with_port(std::uint16_t port) const;
  /// Returns the bytes of the address (4 or 16) in network order.
  std::span<std::byte const> address_bytes() const;

  /// "10.0.0.1:29400" or "[fe80::1%eth0]:29400".
  std::string text() const;
  /// Returns the address as text, without the port.
  std::string host() const;

  /// Serialises the endpoint for other hosts, without the scope, which is an interface index of this host.
  std::vector<std::byte> encoded() const;
  /// Decodes the bytes of encoded().  Errors: communicator_error for other bytes.
  static endpoint decoded(std::span<std::byte const> bytes);

  bool operator==(endpoint const& other) const { return text() == other.text(); }

 private:
  sockaddr_storage address_{};
};

/// Host and port from the user's text: "HOST:PORT" or "[IPV6]:PORT".
struct host_and_port {
  std::string host;
  std::uint16_t port = 0;

  /// Errors    setting_error naming `where`.
  static host_and_port parse(std::string_view text, std::string_view where);
  std::string text() const;
};

/// Returns the addresses of a host, in the order of getaddrinfo. If the name is unknown, queries the resolver
/// again every 200 ms until `limit`: names of pods and of new hosts may be published later. A single query
/// lasts at most as long as the resolver's timeouts allow (resolv.conf: 30 s by default).
///
/// Errors    communicator_error with the resolver's message if the name is unknown at `limit`.
std::vector<endpoint> resolve(host_and_port const& name, std::chrono::steady_clock::time_point limit = {});

/// Returns the addresses of this host's interfaces that are up, with port 0.
///
/// Parameters  `selection`: names of interfaces and networks such as "eth0" or "10.0.0.0/8", separated by
///             commas; an empty text selects all.
/// Order     the order of the selection; for each of its entries, link-local addresses are last.
/// Errors    setting_error for an invalid network; setting_error that lists the interfaces if none is
///           selected.
std::vector<endpoint> local_addresses(std::string_view selection);

/// Returns the addresses by which this process can reach another process. Each link-local address of `other`
/// is returned once per scope of the link-local addresses in `own`.
std::vector<endpoint> reached_from(std::vector<endpoint> const& own, std::vector<endpoint> const& other);

}  // namespace cohort::detail
