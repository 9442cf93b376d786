// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "../../data/refused.hpp"
#include "simulated_network.hpp"
#include "tcp_ranks.hpp"

namespace tcp_transport_test {

using namespace tcp_test;

TEST(tcp_transport, closes_connections_and_ports_after_a_failure) {
  auto const descriptors = [] {
    auto const all = std::filesystem::directory_iterator("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  auto const fail_once = [](bool shares_memory) {
    tcp_job job(2, shared_key(), shares_memory);
    std::vector<detail::endpoint> const ports{job.members.ranks[0].front(), job.members.ranks[1].front()};
    refused<std::runtime_error>([&] {
      on_tcp_ranks(job, {.deadline = 20s}, [](communicator& world) {
        world.barrier();
        if (world.rank() == 1) throw std::runtime_error("the disk is full");
        world.barrier();
      });
    });
    return ports;
  };
  fail_once(false);  // creates objects that exist once per process
  auto const before = descriptors();
  for (bool const shares_memory : {false, true})
    for (detail::endpoint const& port : fail_once(shares_memory))
      EXPECT_TRUE(detail::tcp_socket::listening_alone(port)) << port.text();
  EXPECT_EQ(descriptors(), before);
}

/// A message that a rank sends before the other rank has begun to receive it.
TEST(tcp_transport, buffers_unexpected_messages_up_to_a_limit) {
  constexpr int messages = 10;
  constexpr std::size_t bytes = std::size_t{32} << 20;
  for (bool const shares_memory : {false, true})
    for (bool const encrypts : {false, true}) {
      tcp_job job(2, encrypts ? shared_key() : detail::tls_identity(), shares_memory);
      std::atomic<bool> has_sent = false;
      on_tcp_ranks(job, {.deadline = 120s, .heartbeat = 1500ms}, [&](communicator& world) {
        world.barrier();
        std::vector<std::vector<std::byte>> all;
        for (int k = 0; k < messages; ++k) all.emplace_back(bytes, std::byte(k));
        if (world.rank() == 0) {
          std::vector<pending_operation> sends;
          for (int k = 0; k < messages; ++k)
            sends.push_back(
                world.start_send(std::span<std::byte const>(all[static_cast<std::size_t>(k)]), 1, k));
          auto const ended = [&] {
            return std::ranges::count_if(sends, [](pending_operation& one) { return one.done(); });
          };
          for (auto const end = std::chrono::steady_clock::now() + 3s;
               std::chrono::steady_clock::now() < end;)
            ::poll(nullptr, 0, 10);  // longer than the heartbeat
          EXPECT_GE(ended(), 1);
          EXPECT_LE(ended(), 4) << "64 MiB, and what the system buffers";
          has_sent = true;
          for (pending_operation& one : sends) one.wait();
        } else {
          while (!has_sent) ::poll(nullptr, 0, 10);
          std::vector<std::byte> got(bytes);
          for (int k = messages; k-- > 0;) {  // receives the last message first: the others precede it
            world.receive(std::span(got), 0, k);
            EXPECT_EQ(got, all[static_cast<std::size_t>(k)]);
          }
        }
        world.barrier();
      });
    }
}

/// Rank 0 waits for rank 1, and rank 1 waits for rank 2. Rank 2 first sends to rank 0.
TEST(tcp_transport, receives_messages_beyond_the_buffer_limit_while_it_waits) {
  tcp_job job(3);
  std::vector<std::byte> const data(std::size_t{100} << 20, std::byte{42});
  on_tcp_ranks(job, {.deadline = 30s}, [&](communicator& world) {
    std::span<std::byte const> const token(data.data(), 1);
    std::byte got{};
    world.barrier();
    if (world.rank() == 0) {
      world.receive(std::span(&got, 1), 1, 0);
      std::vector<std::byte> all(data.size());
      world.receive(std::span(all), 2, 0);
      EXPECT_EQ(all, data);
    } else if (world.rank() == 1) {
      world.receive(std::span(&got, 1), 2, 0);
      world.send(token, 0, 0);
    } else {
      world.send(std::span<std::byte const>(data), 0, 0);
      world.send(token, 1, 0);
    }
  });
}

TEST(tcp_transport, receives_the_reason_of_a_failure_while_messages_are_pending) {
  tcp_job job(2);
  std::vector<std::byte> const data(std::size_t{100} << 20);
  refused<std::runtime_error>([&] {
    on_tcp_ranks(job, {.deadline = 120s, .heartbeat = 60s}, [&](communicator& world) {
      world.barrier();
      if (world.rank() == 0) {
        pending_operation sending = world.start_send(std::span<std::byte const>(data), 1, 0);
        ::poll(nullptr, 0, 500);
        throw std::runtime_error("the disk is full");
      }
      ::poll(nullptr, 0, 3000);
      expect_parts(refused<communicator_error>([&] { world.barrier(); }),
                   {"rank 0 failed: the disk is full"});
    });
  });
}

/// Rank 1 closes the connection of rank 0. The next connection of rank 0, from rank 2, reuses the descriptor.
TEST(tcp_transport, reads_a_connection_that_reuses_the_descriptor_of_a_failed_connection) {
  using tcp_simulation::simulated_host;
  constexpr int descriptor = 1;  // descriptor 0 listens
  tcp_simulation::simulated_network net(1, 20ms, 100ms);
  detail::tcp_membership members;
  std::vector<detail::tcp_socket> listening;
  for (int r = 0; r < 3; ++r) {
    simulated_host& host = net.add_host();
    listening.push_back(detail::tcp_socket::listening(host.address(), {}, host));
    members.ranks.push_back({listening.back().local()});
    members.hosts.push_back(static_cast<std::uint32_t>(r));
  }
  auto const transport = [&](int rank) {
    detail::tcp_membership mine = members;
    mine.rank = rank;
    std::vector<detail::tcp_socket> its;
    its.push_back(std::move(listening[static_cast<std::size_t>(rank)]));
    simulated_host& host = net.host(rank);
    return std::make_unique<detail::tcp_transport>(detail::acceptor(std::move(its), {}, {}, host),
                                                   std::move(mine), detail::tls_identity(),
                                                   communicator_settings{}, nullptr, host);
  };
  auto const run_until = [&](detail::tcp_transport& one, std::chrono::milliseconds end) {
    while (one.time().now().time_since_epoch() < end) {
      one.make_progress();
      one.wait_for_event(1ms);
    }
  };
  std::byte const data{42};
  int first = -1, next = -1;
  bool has_message = false;
  net.host(0).start([&] {
    simulated_host& host = net.host(0);
    auto const wire = transport(0);
    wire->send(1, detail::channel::peer, 1, std::span(&data, 1));
    run_until(*wire, 10ms);
    first = simulated_host::host_of(host.remote(descriptor));
    host.let_pass(10ms);
    wire->make_progress();  // closes the descriptor
    host.let_pass(10ms);
    wire->make_progress();  // accepts the connection of rank 2
    next = simulated_host::host_of(host.remote(descriptor));
    run_until(*wire, 500ms);
    has_message = wire->probe(2, detail::channel::peer, 1).has_value();
    host.exit();
  });
  net.host(1).start([&] {
    net.host(1).let_pass(12ms);
    EXPECT_TRUE(listening[1].accept());  // the temporary closes the connection
  });
  net.host(2).start([&] {
    net.host(2).let_pass(22ms);
    auto const wire = transport(2);
    wire->send(0, detail::channel::peer, 1, std::span(&data, 1));
    run_until(*wire, 500ms);
    net.host(2).exit();
  });
  net.run(std::chrono::steady_clock::time_point(10s));
  EXPECT_EQ(first, 1);
  EXPECT_EQ(next, 2);
  EXPECT_TRUE(has_message);
}

}  // namespace tcp_transport_test
