// SPDX-License-Identifier: Apache-2.0
// covers: communicator/elastic_communicator
#include <gtest/gtest.h>
#include <chrono>
#include <cohort/communicator/elastic_communicator.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp.hpp>
#include <cohort/tcp/detail/socket.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>
#include "tcp_ranks.hpp"

namespace elastic_ranks_test {

using namespace cohort;
using namespace std::chrono_literals;

/// Settings of an elastic job of `ranks` threads.
tcp_settings job_of(int ranks) {
  std::uint16_t const port = detail::tcp_socket::listening(tcp_test::loopback(), {}).local().port();
  return {.join = "127.0.0.1:" + std::to_string(port),
          .job = "elastic ranks",
          .ranks = ranks,
          .min_ranks = 1,
          .max_ranks = ranks + 1};
}

constexpr auto deadline = 20s;

/// Runs the bodies as processes of the job; each gets a communicator whose ranks may change.
void run(tcp_settings const& job, std::vector<std::function<void(elastic_communicator&)>> const& bodies) {
  std::vector<std::thread> threads;
  for (auto const& body : bodies)
    threads.emplace_back([&] {
      std::unique_ptr<communicator> const world = make_tcp(job, {.deadline = deadline, .heartbeat = 2s});
      body(dynamic_cast<elastic_communicator&>(*world));
    });
  for (std::thread& thread : threads) thread.join();
}

float sum_of_ranks(communicator& world) {
  float sum = 1;
  world.allreduce(std::span(&sum, 1));
  return sum;
}

TEST(elastic_ranks, continue_after_a_rank_has_left) {
  tcp_settings const job = job_of(3);
  auto const body = [](elastic_communicator& world) {
    EXPECT_FALSE(world.waits_to_join());
    EXPECT_EQ(world.planned_size(), 3);
    EXPECT_EQ(world.least_size(), 1);
    std::int64_t const first = world.membership();
    EXPECT_EQ(sum_of_ranks(world), 3);
    int const former = world.rank();
    if (former == 1) {
      world.leave();
      EXPECT_TRUE(world.has_left());
      EXPECT_THROW(world.barrier(), communicator_error);
      return;
    }
    EXPECT_THROW(world.barrier(), communicator_error);
    world.regroup(former == 2 ? 5 : 4);  // rank 2 has completed more steps
    EXPECT_GT(world.membership(), first);
    EXPECT_EQ(world.size(), 2);
    EXPECT_EQ(world.rank(), former == 2 ? 0 : 1);
    EXPECT_EQ(sum_of_ranks(world), 2);
  };
  run(job, {body, body, body});
}

TEST(elastic_ranks, accept_a_process_that_starts_later) {
  tcp_settings const job = job_of(1);
  std::thread later;  // ends after the first rank's communicator
  run(job, {[&](elastic_communicator& world) {
        EXPECT_EQ(world.size(), 1);
        later = std::thread([&] {
          std::unique_ptr<communicator> const own = make_tcp(job, {.deadline = deadline, .heartbeat = 2s});
          auto& joiner = dynamic_cast<elastic_communicator&>(*own);
          EXPECT_TRUE(joiner.waits_to_join());
          EXPECT_EQ(joiner.size(), 1);
          joiner.regroup(0);
          EXPECT_FALSE(joiner.waits_to_join());
          EXPECT_EQ(joiner.rank(), 1);
          EXPECT_EQ(sum_of_ranks(joiner), 2);
        });
        world.regroup(7);
        while (world.size() == 1) world.regroup(7);
        EXPECT_EQ(world.rank(), 0);
        EXPECT_EQ(sum_of_ranks(world), 2);
      }});
  later.join();
}

TEST(elastic_ranks, connect_again_to_a_service_that_is_silent) {
  detail::tcp_socket listening = detail::tcp_socket::listening(tcp_test::loopback(), {});
  std::thread rank([&] {
    tcp_settings job = job_of(1);
    job.join = listening.local().text();
    EXPECT_THROW(make_tcp(job, {.deadline = 5s, .heartbeat = 100ms}), communicator_error);
  });
  std::vector<detail::tcp_socket> connections;  // which answer nothing
  for (auto const end = std::chrono::steady_clock::now() + 20s;
       connections.size() < 3 && std::chrono::steady_clock::now() < end;)
    if (std::optional<detail::tcp_socket> next = listening.accept()) connections.push_back(*std::move(next));
  EXPECT_EQ(connections.size(), 3U);
  rank.join();
}

TEST(elastic_ranks, refuse_bounds_that_contradict_each_other) {
  for (auto const& [least, most] : {std::pair(4, 0), std::pair(0, 5), std::pair(1, 2)}) {
    tcp_settings job = job_of(3);
    job.min_ranks = least;
    job.max_ranks = most;
    EXPECT_THROW(make_tcp(job, {.deadline = 100ms}), setting_error) << least << ' ' << most;
  }
}

}  // namespace elastic_ranks_test
