// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <charconv>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp/detail/socket.hpp>
#include <cstring>

namespace cohort::detail {

port_range port_range::parse(std::string_view text) {
  port_range made;
  if (text.empty()) return made;
  std::size_t const dash = text.find('-');
  auto const number = [&](std::string_view digits, std::uint16_t& to) {
    auto const [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), to);
    return failure == std::errc{} && end == digits.data() + digits.size() && to > 0;
  };
  bool valid = number(text.substr(0, dash), made.first);
  made.last = made.first;
  if (dash != text.npos) valid = valid && number(text.substr(dash + 1), made.last);
  if (!valid || made.last < made.first)
    throw setting_error({.what = "this is not a range of ports",
                         .where = "ports",
                         .expected = "FIRST-LAST from 1 to 65535, such as 29500-29600",
                         .got = quote_for_error(text)});
  return made;
}

std::string port_range::text() const {
  return first == 0 ? std::string("any port") : text_of({"port ", first, " to ", last});
}

[[noreturn]] void refuse_socket(char const* what, endpoint const& where, clause expected, int reason) {
  throw socket_error(
      {.what = what, .where = where.text(), .expected = std::move(expected), .got = std::strerror(reason)},
      reason);
}

tcp_socket new_socket(endpoint const& of, socket_api& by) {
  tcp_socket made(by.open(of.family()), by);
  int const reason = errno;
  if (!made.is_open()) refuse_socket("cannot make a socket", of, expected_descriptor(), reason);
  return made;
}

void tcp_socket::close() noexcept {
  if (descriptor_ >= 0) by_->close(std::exchange(descriptor_, -1));
}

tcp_socket tcp_socket::listening(endpoint const& at, port_range ports, socket_api& by) {
  int reason = 0;
  for (int port = ports.first; port <= ports.last; ++port) {
    tcp_socket made = new_socket(at, by);
    reason = by.listen(made.descriptor(), at.with_port(static_cast<std::uint16_t>(port)));
    if (reason == 0) return made;
    if (reason != EADDRINUSE && reason != EACCES) break;
  }
  refuse_socket("cannot listen", at, {"a free port in the range ", ports.text()}, reason);
}

std::optional<tcp_socket> tcp_socket::listening_alone(endpoint const& at, socket_api& by) {
  tcp_socket made = new_socket(at, by);
  int const reason = by.listen(made.descriptor(), at);
  if (reason == EADDRINUSE || reason == EADDRNOTAVAIL) return std::nullopt;
  if (reason != 0) refuse_socket("cannot listen", at, "a port that this process may use", reason);
  return made;
}

tcp_socket tcp_socket::connecting(endpoint const& to, socket_api& by) {
  tcp_socket made = new_socket(to, by);
  if (int const reason = by.connect(made.descriptor(), to); reason != 0)
    refuse_socket("cannot connect", to, "a process that listens there, and no firewall in between", reason);
  return made;
}

std::optional<tcp_socket> tcp_socket::accept(endpoint* from) {
  endpoint peer;
  int const made = by_->accept(descriptor_, peer);
  if (made < 0) return std::nullopt;
  if (from) *from = peer;
  return tcp_socket(made, *by_);
}

bool tcp_socket::has_no_descriptor() noexcept { return is_descriptor_shortage(errno); }

bool tcp_socket::has_bytes() const noexcept { return by_->has_bytes(descriptor_); }

int tcp_socket::failure() const { return by_->failure(descriptor_); }
endpoint tcp_socket::local() const { return by_->local(descriptor_); }
endpoint tcp_socket::remote() const { return by_->remote(descriptor_); }

std::optional<std::size_t> moved_bytes(ssize_t result, bool zero_is_end) noexcept {
  if (result > 0) return static_cast<std::size_t>(result);
  if (result == 0) {
    if (!zero_is_end) return 0;
    errno = 0;
    return std::nullopt;
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return 0;
  return std::nullopt;
}

std::optional<std::size_t> tcp_socket::send(std::span<std::byte const> bytes) noexcept {
  if (bytes.empty()) return 0;
  return moved_bytes(by_->send(descriptor_, bytes), false);
}

std::optional<std::size_t> tcp_socket::receive(std::span<std::byte> bytes) noexcept {
  if (bytes.empty()) return 0;
  return moved_bytes(by_->receive(descriptor_, bytes), true);
}

}  // namespace cohort::detail
