// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <cohort/communicator/detail/time_source.hpp>
#include <cohort/tcp/detail/endpoint.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cohort::detail {

/// Waits for events of sockets.
class socket_events {
 public:
  enum class interest : std::uint8_t { readable, writable };

  virtual ~socket_events() = default;
  /// From now on, reports when a socket is readable or closed, or when it is writable; not both.
  ///
  /// Errors    communicator_error with the system's message.
  virtual void watch(int descriptor, std::uint64_t id, interest in = interest::readable) = 0;
  /// Stops to report. Closing a socket does so, too.
  virtual void ignore(int descriptor) noexcept = 0;
  /// Returns the ids of sockets with events, as far as `ids` has space.
  virtual std::span<std::uint64_t const> ready(std::span<std::uint64_t> ids) = 0;
  /// Sleeps until a socket has an event, or another thread calls wake; at most until `limit` has passed.
  virtual void wait(std::chrono::milliseconds limit) = 0;
  /// Ends the current or the next wait. Any thread may call it.
  virtual void wake() noexcept = 0;
};

/// The system's functions for TCP sockets that never block, or a simulation of them. Descriptors, results and
/// errno are those of the system.
class socket_api {
 public:
  virtual ~socket_api() = default;
  virtual time_source& time() = 0;
  virtual std::unique_ptr<socket_events> events() = 0;

  /// Returns a new descriptor; −1: errno is the reason.
  virtual int open(int family) = 0;
  virtual void close(int descriptor) noexcept = 0;
  /// Binds and listens. Returns 0, or the number of the error.
  virtual int listen(int descriptor, endpoint const& at) = 0;
  /// Begins to connect. Returns 0, or the number of the error.
  virtual int connect(int descriptor, endpoint const& to) = 0;
  virtual int accept(int descriptor, endpoint& from) = 0;
  virtual ssize_t send(int descriptor, std::span<std::byte const> bytes) noexcept = 0;
  virtual ssize_t receive(int descriptor, std::span<std::byte> bytes) noexcept = 0;
  /// Returns the number of the error of a connection attempt; 0: none.
  virtual int failure(int descriptor) = 0;
  virtual endpoint local(int descriptor) = 0;
  virtual endpoint remote(int descriptor) = 0;
};

/// The system's sockets and time, and epoll.
socket_api& system_sockets();

}  // namespace cohort::detail

#ifndef COHORT_TCP_COMPILED
#include <cohort/tcp/impl/socket_api.ipp>
#endif
