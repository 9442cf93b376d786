// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/tcp/detail/acceptor.hpp>
#include <span>
#include <string>
#include <vector>

#include "../../data/refused.hpp"
#include "tcp_ranks.hpp"

namespace acceptor_test {

using namespace tcp_test;
using detail::acceptor;
using detail::tcp_socket;

struct entrance {
  explicit entrance(detail::tls_identity const& identity = {}) {
    std::vector<tcp_socket> listening;
    listening.push_back(tcp_socket::listening(loopback(), {}));
    where = listening.front().local();
    accepts =
        acceptor(std::move(listening), identity, [this](std::string_view line) { lines.emplace_back(line); });
  }
  /// Connections that send nothing.
  void add_idle(int count) {
    for (int k = 0; k < count; ++k) idle.push_back(tcp_socket::connecting(where));
  }
  int closed() {
    int made = 0;
    std::byte any[1];
    for (tcp_socket& one : idle) made += one.receive(std::span(any)) ? 0 : 1;
    return made;
  }

  detail::endpoint where;
  acceptor accepts;
  std::vector<std::string> lines;
  std::vector<tcp_socket> idle;
};

auto hello() { return detail::greeting{.from = 1, .to = 0, .size = 2}.encoded(); }

TEST(acceptor, returns_connections_with_their_greetings) {
  for (detail::tls_identity const& identity : {detail::tls_identity(), shared_key()}) {
    entrance at(identity);
    detail::secure_stream client(tcp_socket::connecting(at.where), detail::secure_stream::role::client,
                                 identity);
    auto const bytes = hello();
    std::size_t sent = 0;
    std::optional<detail::greeted_connection> found;
    for (auto const end = std::chrono::steady_clock::now() + 20s;
         !found && std::chrono::steady_clock::now() < end;) {
      at.accepts.advance(1);
      found = at.accepts.next();
      if (client.advance() == detail::secure_stream::progress::ready && sent < bytes.size())
        sent += client.send(std::span(bytes).subspan(sent, sent == 0 ? 7 : bytes.size() - sent)).value();
    }
    ASSERT_TRUE(found);
    EXPECT_EQ(found->bytes, bytes);
    EXPECT_FALSE(at.accepts.next());
    EXPECT_EQ(at.lines, std::vector<std::string>());
  }
}

TEST(acceptor, receives_a_greeting_when_it_accepts_the_connection) {
  entrance at;
  tcp_socket honest = tcp_socket::connecting(at.where);
  ASSERT_EQ(honest.send(hello()), hello().size());
  at.accepts.advance(1);
  EXPECT_TRUE(at.accepts.next());
}

TEST(acceptor, keeps_a_greeting_among_many_idle_connections) {
  entrance at;
  at.add_idle(400);
  tcp_socket honest = tcp_socket::connecting(at.where);
  auto const bytes = hello();
  ASSERT_EQ(honest.send(bytes), bytes.size());
  at.add_idle(400);
  for (int k = 0; k < 1000 && at.closed() < 800 - 256; ++k) at.accepts.advance(1);
  EXPECT_EQ(at.closed(), 800 - 256);
  std::optional<detail::greeted_connection> const found = at.accepts.next();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->bytes, bytes);
}

TEST(acceptor, closes_idle_connections_before_a_connection_with_a_partial_greeting) {
  entrance at;
  tcp_socket honest = tcp_socket::connecting(at.where);
  auto const bytes = hello();
  honest.send(std::span(bytes).first(5));
  at.add_idle(300);
  for (int k = 0; k < 1000 && at.closed() < 300 - 255; ++k) at.accepts.advance(1);
  EXPECT_EQ(at.closed(), 300 - 255);
  honest.send(std::span(bytes).subspan(5));
  at.accepts.advance(1);
  EXPECT_TRUE(at.accepts.next());
  ASSERT_GE(at.lines.size(), 20U);
  expect_parts(at.lines[0], {"a process that joins has refused a connection from 127.0.0.1",
                             "too many connections of unknown processes"});
}

TEST(acceptor, closes_unauthenticated_connections_older_than_a_second_first) {
  struct one {
    std::chrono::steady_clock::time_point accepted;
    bool has_sent;
    bool is_unknown = true;
  };
  auto const now = std::chrono::steady_clock::now();
  auto const first = [&](std::vector<one> all) {
    return detail::first_to_close(all, now, std::mem_fn(&one::is_unknown)) - all.begin();
  };
  EXPECT_EQ(first({{now - 900ms, true}, {now - 100ms, false}, {now, false}}), 1) << "idle";
  EXPECT_EQ(first({{now - 2s, true, false}, {now - 1s, true}, {now, false}}), 1) << "late";
  EXPECT_EQ(first({{now - 5s, true, false}, {now - 900ms, true}, {now, true}}), 1) << "the oldest";
  EXPECT_EQ(first({{now - 5s, true, false}}), 1) << "nobody";
}

TEST(acceptor, is_throttled_after_many_connections) {
  entrance at;
  int connections = 0;
  for (; connections < 200'000 && !at.accepts.is_throttled(); ++connections) {
    tcp_socket const one = tcp_socket::connecting(at.where);
    at.accepts.advance(0);
  }
  EXPECT_GT(connections, 300);
  ASSERT_TRUE(at.accepts.is_throttled());
  tcp_socket honest = tcp_socket::connecting(at.where);
  auto const bytes = hello();
  honest.send(bytes);
  for (int k = 0; k < 100; ++k) at.accepts.advance(0);
  EXPECT_FALSE(at.accepts.next());
  std::optional<detail::greeted_connection> found;
  for (auto const end = std::chrono::steady_clock::now() + 20s;
       !found && std::chrono::steady_clock::now() < end;) {
    at.accepts.advance(1);
    found = at.accepts.next();
  }
  EXPECT_TRUE(found);
}

}  // namespace acceptor_test
