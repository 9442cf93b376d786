// SPDX-License-Identifier: Apache-2.0
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cohort/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp/detail/socket_api.hpp>
#include <cstring>

namespace cohort::detail {

bool is_descriptor_shortage(int reason) noexcept {
  return reason == EMFILE || reason == ENFILE || reason == ENOBUFS || reason == ENOMEM;
}

std::string expected_descriptor() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return text_of({"a free descriptor; this process may have ", limit.rlim_cur, " (ulimit -n)"});
}

void require_descriptor(int descriptor, char const* what) {
  int const reason = errno;
  if (descriptor < 0)
    throw socket_error({.what = "the system has no descriptor for this process",
                        .where = what,
                        .expected = expected_descriptor(),
                        .got = std::strerror(reason)},
                       reason);
}

/// Socket events from epoll. An eventfd ends a wait.
class epoll_events final : public socket_events {
 public:
  epoll_events() : epoll_(::epoll_create1(EPOLL_CLOEXEC)), waker_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    try {
      require_descriptor(epoll_, "waiting for other ranks");
      require_descriptor(waker_, "waking the thread that waits for other ranks");
      watch(waker_, waker_id);
    } catch (...) {
      close();
      throw;
    }
  }
  ~epoll_events() override { close(); }

  void watch(int descriptor, std::uint64_t id, interest in = interest::readable) override {
    epoll_event what{};
    what.events = in == interest::readable ? EPOLLIN : EPOLLOUT;
    what.data.u64 = id;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &what) == 0) return;
    if (errno == EEXIST && ::epoll_ctl(epoll_, EPOLL_CTL_MOD, descriptor, &what) == 0) return;
    throw communicator_error({.what = "cannot wait for a socket", .got = std::strerror(errno)});
  }
  void ignore(int descriptor) noexcept override { ::epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr); }
  void watch(socket_events& others, std::uint64_t id) override {
    watch(static_cast<epoll_events&>(others).epoll_, id);
  }
  void ignore(socket_events& others) noexcept override { ignore(static_cast<epoll_events&>(others).epoll_); }
  std::span<std::uint64_t const> ready(std::span<std::uint64_t> ids) override {
    constexpr std::size_t most = 64;
    epoll_event ready[most];
    int const limit = 0;  // returns at once
    int const found = ::epoll_wait(epoll_, ready, static_cast<int>(std::min(most, ids.size())), limit);
    std::size_t count = 0;
    for (int k = 0; k < found; ++k)
      if (ready[k].data.u64 == waker_id)
        drain();
      else
        ids[count++] = ready[k].data.u64;
    return ids.first(count);
  }
  void wait(std::chrono::milliseconds limit) override {
    epoll_event ready;
    ::epoll_wait(epoll_, &ready, 1, static_cast<int>(limit.count()));
  }
  void wake() noexcept override {
    std::uint64_t const one = 1;
    if (::write(waker_, &one, sizeof one) < 0) return;  // the thread is awake already
  }

 private:
  static constexpr std::uint64_t waker_id = ~std::uint64_t{0};

  void drain() {
    std::uint64_t times = 0;
    while (::read(waker_, &times, sizeof times) > 0) {
    }
  }
  void close() noexcept {
    for (int const one : {epoll_, waker_})
      if (one >= 0) ::close(one);
  }

  int epoll_, waker_;
};

/// Disables Nagle's algorithm, so that small messages are sent at once.
void prepare_connection(int descriptor) {
  int const on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

socket_api& system_sockets() {
  class system final : public socket_api {
    time_source& time() override { return system_time(); }
    std::unique_ptr<socket_events> events() override { return std::make_unique<epoll_events>(); }
    int open(int family) override { return ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }
    void close(int descriptor) noexcept override { ::close(descriptor); }
    int listen(int descriptor, endpoint const& at) override {
      int const on = 1;
      ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
      bool const listens =
          ::bind(descriptor, at.address(), at.bytes()) == 0 && ::listen(descriptor, SOMAXCONN) == 0;
      return listens ? 0 : errno;
    }
    int connect(int descriptor, endpoint const& to) override {
      prepare_connection(descriptor);
      return ::connect(descriptor, to.address(), to.bytes()) == 0 || errno == EINPROGRESS ? 0 : errno;
    }
    int accept(int descriptor, endpoint& from) override {
      sockaddr_storage address{};
      socklen_t bytes = sizeof address;
      int const made =
          ::accept4(descriptor, reinterpret_cast<sockaddr*>(&address), &bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (made < 0) return made;
      from = endpoint(address);
      prepare_connection(made);
      return made;
    }
    ssize_t send(int descriptor, std::span<std::byte const> bytes) noexcept override {
      return ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    ssize_t receive(int descriptor, std::span<std::byte> bytes) noexcept override {
      return ::recv(descriptor, bytes.data(), bytes.size(), 0);
    }
    bool has_bytes(int descriptor) noexcept override {
      std::byte any{};
      return ::recv(descriptor, &any, 1, MSG_PEEK) > 0;
    }
    int failure(int descriptor) override {
      int reason = 0;
      socklen_t bytes = sizeof reason;
      return ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &reason, &bytes) == 0 ? reason : errno;
    }
    endpoint local(int descriptor) override { return address_of(::getsockname, descriptor); }
    endpoint remote(int descriptor) override { return address_of(::getpeername, descriptor); }

    static endpoint address_of(int (*ask)(int, sockaddr*, socklen_t*), int descriptor) {
      sockaddr_storage address{};
      socklen_t bytes = sizeof address;
      ask(descriptor, reinterpret_cast<sockaddr*>(&address), &bytes);
      return endpoint(address);
    }
  };
  static system made;
  return made;
}

}  // namespace cohort::detail
