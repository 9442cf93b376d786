// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp/detail/endpoint.hpp>
#include <cstring>
#include <memory>
#include <optional>

namespace cohort::detail {

inline sockaddr_in const& v4_of(sockaddr_storage const& address) {
  return reinterpret_cast<sockaddr_in const&>(address);
}
inline sockaddr_in6 const& v6_of(sockaddr_storage const& address) {
  return reinterpret_cast<sockaddr_in6 const&>(address);
}

std::span<std::byte const> endpoint::address_bytes() const {
  return is_v6() ? std::as_bytes(std::span(&v6_of(address_).sin6_addr, 1))
                 : std::as_bytes(std::span(&v4_of(address_).sin_addr, 1));
}

bool endpoint::is_loopback() const {
  std::span<std::byte const> const bytes = address_bytes();
  if (!is_v6()) return bytes[0] == std::byte{127};
  return IN6_IS_ADDR_LOOPBACK(&v6_of(address_).sin6_addr)
         || (IN6_IS_ADDR_V4MAPPED(&v6_of(address_).sin6_addr) && bytes[12] == std::byte{127});
}

bool endpoint::is_link_local() const { return is_v6() && IN6_IS_ADDR_LINKLOCAL(&v6_of(address_).sin6_addr); }

std::uint32_t endpoint::scope() const { return is_v6() ? v6_of(address_).sin6_scope_id : 0; }

endpoint endpoint::with_scope(std::uint32_t scope) const {
  endpoint made = *this;
  if (is_v6()) reinterpret_cast<sockaddr_in6&>(made.address_).sin6_scope_id = scope;
  return made;
}

std::uint16_t endpoint::port() const {
  return ntohs(is_v6() ? v6_of(address_).sin6_port : v4_of(address_).sin_port);
}

endpoint endpoint::with_port(std::uint16_t port) const {
  endpoint made = *this;
  if (is_v6())
    reinterpret_cast<sockaddr_in6&>(made.address_).sin6_port = htons(port);
  else
    reinterpret_cast<sockaddr_in&>(made.address_).sin_port = htons(port);
  return made;
}

std::string endpoint::host() const {
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(family(), address_bytes().data(), text, sizeof text);
  std::string made = text;
  char name[IF_NAMESIZE] = "";
  if (is_v6() && v6_of(address_).sin6_scope_id != 0
      && ::if_indextoname(v6_of(address_).sin6_scope_id, name) != nullptr)
    made += std::string("%") + name;
  return made;
}

std::string endpoint::text() const { return host_and_port{host(), port()}.text(); }

std::vector<std::byte> endpoint::encoded() const {
  std::vector<std::byte> made(encoded_bytes);
  made[0] = std::byte(is_v6() ? 6 : 4);
  std::ranges::copy(address_bytes(), made.begin() + 1);
  made[17] = std::byte(port() >> 8);
  made[18] = std::byte(port() & 0xff);
  return made;
}

endpoint endpoint::decoded(std::span<std::byte const> bytes) {
  if (bytes.size() != encoded_bytes || (bytes[0] != std::byte{4} && bytes[0] != std::byte{6}))
    throw communicator_error({.what = "a message contains an invalid address",
                              .expected = "an address of IPv4 or IPv6",
                              .got = {bytes.size(), " bytes"}});
  endpoint made;
  auto const number = [&](std::size_t at) { return std::to_integer<std::uint32_t>(bytes[at]); };
  if (bytes[0] == std::byte{6}) {
    auto& to = reinterpret_cast<sockaddr_in6&>(made.address_);
    to.sin6_family = AF_INET6;
    std::memcpy(&to.sin6_addr, bytes.data() + 1, 16);
  } else {
    auto& to = reinterpret_cast<sockaddr_in&>(made.address_);
    to.sin_family = AF_INET;
    std::memcpy(&to.sin_addr, bytes.data() + 1, 4);
  }
  return made.with_port(static_cast<std::uint16_t>(number(17) << 8 | number(18)));
}

host_and_port host_and_port::parse(std::string_view text, std::string_view where) {
  std::size_t const colon = text.rfind(':');
  auto const refuse = [&] {
    throw setting_error({.what = "this is not the address of a port",
                         .where = std::string(where),
                         .expected = "HOST:PORT, such as node0:29400 or [fd00::1]:29400",
                         .got = quote_for_error(text)});
  };
  if (colon == text.npos || colon == 0) refuse();
  host_and_port made{.host = std::string(text.substr(0, colon))};
  if (made.host.front() == '[' && made.host.back() == ']')
    made.host = made.host.substr(1, made.host.size() - 2);
  else if (made.host.find(':') != made.host.npos)
    refuse();  // IPv6 without brackets
  std::string_view const digits = text.substr(colon + 1);
  auto const [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), made.port);
  if (made.host.empty() || failure != std::errc{} || end != digits.data() + digits.size() || made.port == 0)
    refuse();
  return made;
}

std::string host_and_port::text() const {
  return host.find(':') == host.npos ? text_of({host, ":", port}) : text_of({"[", host, "]:", port});
}

std::vector<endpoint> resolve(host_and_port const& name, std::chrono::steady_clock::time_point limit) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  std::vector<endpoint> all;
  int code = 0;
  while (true) {
    addrinfo* found = nullptr;
    code = ::getaddrinfo(name.host.c_str(), std::to_string(name.port).c_str(), &wanted, &found);
    std::unique_ptr<addrinfo, void (*)(addrinfo*)> const owner(found, ::freeaddrinfo);
    for (addrinfo const* one = found; code == 0 && one; one = one->ai_next) {
      if (one->ai_family != AF_INET && one->ai_family != AF_INET6) continue;
      sockaddr_storage address{};
      std::memcpy(&address, one->ai_addr, one->ai_addrlen);
      all.emplace_back(address);
    }
    bool const may_change = code == EAI_NONAME || code == EAI_AGAIN || code == EAI_NODATA;
    if (!all.empty() || !may_change || std::chrono::steady_clock::now() >= limit) break;
    ::poll(nullptr, 0, 200);  // bounded: 200 ms
  }
  if (all.empty())
    throw communicator_error({.what = "the name of a host is unknown",
                              .where = name.text(),
                              .expected = "a name that the resolver knows, or an address",
                              .got = code == 0            ? "no address"
                                     : code == EAI_SYSTEM ? std::strerror(errno)
                                                          : ::gai_strerror(code)});
  return all;
}

/// A network: the first `bits` of an address.
struct network {
  endpoint address;
  unsigned bits = 0;

  static network parse(std::string_view text) {
    std::size_t const slash = text.find('/');
    std::string const host(text.substr(0, slash));
    sockaddr_storage storage{};
    if (::inet_pton(AF_INET, host.c_str(), &reinterpret_cast<sockaddr_in&>(storage).sin_addr) == 1)
      storage.ss_family = AF_INET;
    else if (::inet_pton(AF_INET6, host.c_str(), &reinterpret_cast<sockaddr_in6&>(storage).sin6_addr) == 1)
      storage.ss_family = AF_INET6;
    network made{endpoint(storage)};
    unsigned const most = storage.ss_family == AF_INET ? 32 : 128;
    std::string_view const digits = slash == text.npos ? "" : text.substr(slash + 1);
    auto const [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), made.bits);
    if (storage.ss_family == 0 || failure != std::errc{} || end != digits.data() + digits.size()
        || made.bits > most)
      throw setting_error({.what = "this is not a network",
                           .expected = "ADDRESS/BITS, such as 10.0.0.0/8 or fd00::/8",
                           .got = quote_for_error(text)});
    return made;
  }

  bool contains(endpoint const& one) const {
    if (one.family() != address.family()) return false;
    std::span<std::byte const> const a = address.address_bytes(), b = one.address_bytes();
    for (unsigned bit = 0; bit < bits; ++bit) {
      auto const mask = std::byte(0x80 >> bit % 8);
      if ((a[bit / 8] & mask) != (b[bit / 8] & mask)) return false;
    }
    return true;
  }
};

std::vector<endpoint> local_addresses(std::string_view selection) {
  std::vector<std::string_view> parts;
  for (std::string_view rest = selection; !rest.empty();) {
    std::size_t const comma = std::min(rest.find(','), rest.size());
    parts.push_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0)
    throw communicator_error({.what = "cannot list the network interfaces", .got = std::strerror(errno)});
  std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> const owner(found, ::freeifaddrs);
  std::vector<std::vector<endpoint>> selected(std::max<std::size_t>(1, parts.size()));
  std::string known;
  for (ifaddrs const* one = found; one; one = one->ifa_next) {
    if (!one->ifa_addr || (one->ifa_flags & IFF_UP) == 0) continue;
    bool const is_v4 = one->ifa_addr->sa_family == AF_INET;
    if (!is_v4 && one->ifa_addr->sa_family != AF_INET6) continue;
    sockaddr_storage storage{};
    std::memcpy(&storage, one->ifa_addr, is_v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    endpoint const address(storage);
    known += text_of({known.empty() ? "" : ", ", one->ifa_name, " ", address.host()});
    auto const selects = [&](std::string_view part) {
      return part.find('/') == part.npos ? part == one->ifa_name : network::parse(part).contains(address);
    };
    auto const part = parts.empty() ? parts.begin() : std::ranges::find_if(parts, selects);
    if (parts.empty() || part != parts.end())
      selected[static_cast<std::size_t>(part - parts.begin())].push_back(address.with_port(0));
  }
  std::vector<endpoint> all;
  for (std::vector<endpoint>& part : selected) {
    std::stable_partition(part.begin(), part.end(), [](endpoint const& one) { return !one.is_link_local(); });
    all.insert(all.end(), part.begin(), part.end());
  }
  if (all.empty())
    throw setting_error({.what = "no network interface is selected",
                         .where = "interfaces",
                         .expected = {"names or networks of ", known},
                         .got = quote_for_error(selection)});
  return all;
}

std::vector<endpoint> reached_from(std::vector<endpoint> const& own, std::vector<endpoint> const& other) {
  std::vector<endpoint> made;
  for (endpoint const& one : other) {
    if (!one.is_link_local()) made.push_back(one);
    for (endpoint const& mine : own) {
      endpoint const reached = one.with_scope(mine.scope());
      bool const is_new = std::ranges::find(made, reached) == made.end();
      if (one.is_link_local() && mine.is_link_local() && is_new) made.push_back(reached);
    }
  }
  return made;
}

}  // namespace cohort::detail
