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

/// An IP address with a port: of IPv4 or IPv6.
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
  /// Whether it is an address of IPv6 that is valid on one link, with an interface of this host as its scope.
  bool is_link_local() const;
  std::uint32_t scope() const;
  endpoint with_scope(std::uint32_t scope) const;
  std::uint16_t port() const;
  /// The same address with another port.
  endpoint with_port(std::uint16_t port) const;
  /// The bytes of the address: 4 or 16, in network order.
  std::span<std::byte const> address_bytes() const;

  /// "10.0.0.1:29400" or "[fe80::1%eth0]:29400".
  std::string text() const;
  /// The address alone, without a port.
  std::string host() const;

  /// The bytes for other hosts: without the scope, which numbers an interface of this host.
  std::vector<std::byte> encoded() const;
  /// Decodes the bytes of encoded().  Errors: communicator_error for other bytes.
  static endpoint decoded(std::span<std::byte const> bytes);

  bool operator==(endpoint const& other) const { return text() == other.text(); }

 private:
  sockaddr_storage address_{};
};

/// A host and a port that a user has written: "HOST:PORT", "[IPV6]:PORT".
struct host_and_port {
  std::string host;
  std::uint16_t port = 0;

  /// Errors    setting_error naming `where`.
  static host_and_port parse(std::string_view text, std::string_view where);
  std::string text() const;
};

/// Returns the addresses of a host, in the order of getaddrinfo. If the name is unknown, asks again every 200
/// ms until `limit`: names of pods and of new hosts may be published later. One question is bounded by the
/// limits of the resolver (resolv.conf: 30 s by default).
///
/// Errors    communicator_error with the resolver's message if the name is unknown at `limit`.
std::vector<endpoint> resolve(host_and_port const& name, std::chrono::steady_clock::time_point limit = {});

/// Returns the addresses of this host's interfaces that are up, with port 0.
///
/// Parameters  `selection`: names of interfaces and networks such as "eth0" or "10.0.0.0/8", separated by
///             commas; empty: all.
/// Order     that of the selection; for each of its parts the addresses valid on one link are the last.
/// Errors    setting_error for an invalid network, or if nothing is selected: it lists the interfaces.
std::vector<endpoint> local_addresses(std::string_view selection);

/// Returns the addresses of another process as this one reaches them: those that are valid on one link get
/// the scopes of its own such addresses.
std::vector<endpoint> reached_from(std::vector<endpoint> const& own, std::vector<endpoint> const& other);

}  // namespace cohort::detail
