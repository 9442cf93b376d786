// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <cohort/communicator/detail/time_source.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp/detail/endpoint.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace cohort::detail {

/// Failure of a socket operation. `reason`: the system's error number (errno).
struct socket_error : communicator_error {
  socket_error(refusal why, int reason) : communicator_error(std::move(why)), reason(reason) {}
  int reason;
};

/// Returns whether errno `reason` means that the process or the system has no free descriptor, or no memory
/// for one.
bool is_descriptor_shortage(int reason) noexcept;
/// Returns a text for errors: "a free descriptor; this process may have 1024 (ulimit -n)".
std::string expected_descriptor();

/// Throws socket_error with errno as the reason if `descriptor` is negative. `what`: its purpose, for the
/// message.
void require_descriptor(int descriptor, char const* what);

/// Waits for events of sockets.
class socket_events {
 public:
  enum class interest : std::uint8_t { readable, writable };

  virtual ~socket_events() = default;
  /// Begins to report events of a socket: it is readable or closed, or it is writable. A later call replaces
  /// `in`.
  ///
  /// Errors    communicator_error with the system's message.
  virtual void watch(int descriptor, std::uint64_t id, interest in = interest::readable) = 0;
  /// Stops reporting. Closing the socket has the same effect.
  virtual void ignore(int descriptor) noexcept = 0;
  /// Begins to report events of the sockets in `others`. Before: both belong to the same socket_api.
  virtual void watch(socket_events& others, std::uint64_t id) = 0;
  virtual void ignore(socket_events& others) noexcept = 0;
  /// Returns the ids of sockets with events without blocking, at most as many as `ids` can hold.
  virtual std::span<std::uint64_t const> ready(std::span<std::uint64_t> ids) = 0;
  /// Sleeps until a socket has an event, or another thread calls wake; at most until `limit` has passed.
  virtual void wait(std::chrono::milliseconds limit) = 0;
  /// Ends the current or the next wait. Any thread may call it.
  virtual void wake() noexcept = 0;
};

/// The system's functions for non-blocking TCP sockets, or a simulation of them. Descriptors, results and
/// errno follow the system's conventions.
class socket_api {
 public:
  virtual ~socket_api() = default;
  virtual time_source& time() = 0;
  virtual std::unique_ptr<socket_events> events() = 0;

  /// Returns a new descriptor, or −1 with the reason in errno.
  virtual int open(int family) = 0;
  virtual void close(int descriptor) noexcept = 0;
  /// Binds and listens. Returns 0 or errno.
  virtual int listen(int descriptor, endpoint const& at) = 0;
  /// Begins to connect. Returns 0 or errno.
  virtual int connect(int descriptor, endpoint const& to) = 0;
  virtual int accept(int descriptor, endpoint& from) = 0;
  virtual ssize_t send(int descriptor, std::span<std::byte const> bytes) noexcept = 0;
  virtual ssize_t receive(int descriptor, std::span<std::byte> bytes) noexcept = 0;
  /// Returns whether received bytes are pending.
  virtual bool has_bytes(int descriptor) noexcept = 0;
  /// Returns the errno of a connection attempt; 0 without an error.
  virtual int failure(int descriptor) = 0;
  virtual endpoint local(int descriptor) = 0;
  virtual endpoint remote(int descriptor) = 0;
};

/// The system's sockets and time, and epoll.
socket_api& system_sockets();

}  // namespace cohort::detail
