// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "../../data/refused.hpp"
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
  fail_once(false);  // makes what exists once
  auto const before = descriptors();
  for (bool const shares_memory : {false, true})
    for (detail::endpoint const& port : fail_once(shares_memory))
      EXPECT_TRUE(detail::tcp_socket::listening_alone(port)) << port.text();
  EXPECT_EQ(descriptors(), before);
}

/// A message that a rank sends before the other one has begun to receive it.
TEST(tcp_transport, keeps_a_bounded_part_of_messages_that_nobody_has_asked_for) {
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
          for (int k = messages; k-- > 0;) {  // the last one first: the others are before it
            world.receive(std::span(got), 0, k);
            EXPECT_EQ(got, all[static_cast<std::size_t>(k)]);
          }
        }
        world.barrier();
      });
    }
}

TEST(tcp_transport, receives_the_reason_of_a_failure_while_messages_wait) {
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

}  // namespace tcp_transport_test
