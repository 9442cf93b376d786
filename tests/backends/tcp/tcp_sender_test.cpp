// SPDX-License-Identifier: Apache-2.0
// Connecting a rank to another rank.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cohort/tcp/detail/tcp_sender.hpp>
#include <string>
#include <thread>

#include "../../data/refused.hpp"
#include "tcp_ranks.hpp"

namespace tcp_sender_test {

using namespace tcp_test;
using detail::tcp_socket;

/// An address at which no process listens.
detail::endpoint refusing() { return tcp_socket::listening(loopback(), {}).local(); }

void sum_on_two_ranks(communicator& world) {
  float sum = 1;
  world.allreduce(std::span(&sum, 1));
  EXPECT_EQ(sum, 2);
}

TEST(tcp_sender, uses_another_address_if_the_first_refuses_or_is_silent) {
  tcp_socket const silent = tcp_socket::listening(loopback(), {});
  for (detail::endpoint const& first : {refusing(), silent.local()})
    for (detail::tls_identity const& identity : {detail::tls_identity(), shared_key()}) {
      tcp_job job(2, identity);
      for (auto& addresses : job.members.ranks) addresses.insert(addresses.begin(), first);
      on_tcp_ranks(job, {.deadline = 60s}, sum_on_two_ranks);
    }
}

/// Rank 1 does not exist. Returns the report of rank 0.
std::string report_of_rank_0(std::vector<detail::endpoint> addresses, communicator_settings const& how) {
  tcp_job job(2);
  job.members.ranks[1] = std::move(addresses);
  std::unique_ptr<communicator> const world = make_communicator(job.transport(0, how), how);
  return refused<communicator_error>([&] { sum_on_two_ranks(*world); });
}

TEST(tcp_sender, gives_up_at_once_if_all_addresses_refuse) {
  auto const begin = std::chrono::steady_clock::now();
  expect_parts(
      report_of_rank_0({refusing(), refusing()}, {.deadline = 60s}),
      {"rank 1 cannot be reached (connecting to 127.0.0.1:", "Connection refused", "COHORT_INTERFACES"});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

TEST(tcp_sender, gives_up_before_the_deadline_if_nobody_answers) {
  tcp_socket const silent = tcp_socket::listening(loopback(), {});
  expect_parts(
      report_of_rank_0({silent.local()}, {.deadline = 4s, .heartbeat = 10s}),
      {"rank 1 cannot be reached (connecting to 127.0.0.1:", "no answer, in attempt 2 after 3600 ms"});
}

/// The other rank closes four connections, as if it had too many unauthenticated connections.
TEST(tcp_sender, reconnects_if_the_other_rank_closes_the_connection) {
  for (bool const encrypts : {false, true}) {
    tcp_job job(2, encrypts ? shared_key() : detail::tls_identity());
    std::atomic<int> turned_away = 0;
    communicator_settings const how{.deadline = 60s};
    std::thread first([&] {
      std::unique_ptr<communicator> const world = make_communicator(job.transport(0, how), how);
      sum_on_two_ranks(*world);
    });
    for (auto const end = std::chrono::steady_clock::now() + 30s;
         turned_away < 4 && std::chrono::steady_clock::now() < end; ::poll(nullptr, 0, 1))
      if (job.sockets[1].accept()) ++turned_away;
    EXPECT_EQ(turned_away, 4);
    {
      std::unique_ptr<communicator> const world = make_communicator(job.transport(1, how), how);
      sum_on_two_ranks(*world);
    }
    first.join();
  }
}

TEST(tcp_sender, reports_this_process_if_it_has_no_free_file_descriptor) {
  pid_t const child = ::fork();
  if (child == 0) {
    tcp_job job(2);
    communicator_settings const how{.deadline = 20s};
    std::string why;
    {
      std::unique_ptr<communicator> const world = make_communicator(job.transport(0, how), how);
      int const next = ::dup(STDIN_FILENO);
      ::close(next);
      rlimit const none{static_cast<rlim_t>(next), static_cast<rlim_t>(next)};
      ::setrlimit(RLIMIT_NOFILE, &none);
      try {
        sum_on_two_ranks(*world);
      } catch (communicator_error const& problem) {
        why = problem.what();
      }
    }
    bool const named = why.starts_with("rank 0 cannot open its connection to rank 1: ")
                       && why.find("Too many open files") != why.npos && why.find("ulimit -n") != why.npos;
    if (!named) std::fprintf(stderr, "got: %s\n", why.c_str());
    ::_exit(named ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace tcp_sender_test
