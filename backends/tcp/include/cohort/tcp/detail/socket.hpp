// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tcp/detail/endpoint.hpp>
#include <cohort/tcp/detail/socket_api.hpp>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cohort::detail {

/// Ports that a process may listen on; 0 to 0: any free port.
struct port_range {
  std::uint16_t first = 0;
  std::uint16_t last = 0;

  /// Reads "29500-29600", "29500", or "" for any port.  Errors: setting_error.
  static port_range parse(std::string_view text);
  std::string text() const;
};

/// A TCP socket that never blocks.
///
/// Errors    socket_error with the address and the system's message.
class tcp_socket {
 public:
  tcp_socket() = default;
  explicit tcp_socket(int descriptor, socket_api& by = system_sockets())
      : by_(&by), descriptor_(descriptor) {}
  tcp_socket(tcp_socket&& other) noexcept
      : by_(other.by_), descriptor_(std::exchange(other.descriptor_, -1)) {}
  tcp_socket& operator=(tcp_socket&& other) noexcept {
    std::swap(by_, other.by_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~tcp_socket() { close(); }

  /// Listens on the first free port of the range.
  static tcp_socket listening(endpoint const& at, port_range ports, socket_api& by = system_sockets());
  /// Listens on the port of `at`; nullopt if another socket listens there, or if the address is not usable
  /// yet (tentative IPv6 addresses).
  static std::optional<tcp_socket> listening_alone(endpoint const& at, socket_api& by = system_sockets());
  /// Begins to connect. The connection is established when the socket is writable and failure() is 0.
  static tcp_socket connecting(endpoint const& to, socket_api& by = system_sockets());

  int descriptor() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }
  void close() noexcept;

  /// Returns the next pending connection; nullopt if there is none. `from`: receives the peer's address.
  std::optional<tcp_socket> accept(endpoint* from = nullptr);
  /// Returns whether accept(), just called by this thread, has failed because of a descriptor shortage.
  static bool has_no_descriptor() noexcept;
  /// Returns whether received bytes are pending.
  bool has_bytes() const noexcept;
  /// Returns the error number (errno) of a connection attempt; 0 without an error.
  int failure() const;
  endpoint local() const;
  endpoint remote() const;

  /// Sends or receives some of the bytes. Returns their number; 0 if the call would block.
  ///
  /// Errors    nullopt if the peer has closed the connection (receive only; errno is 0), or if the connection
  ///           has failed (errno is the reason).
  std::optional<std::size_t> send(std::span<std::byte const> bytes) noexcept;
  std::optional<std::size_t> receive(std::span<std::byte> bytes) noexcept;

 private:
  socket_api* by_ = nullptr;
  int descriptor_ = -1;
};

}  // namespace cohort::detail
