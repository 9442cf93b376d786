// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/communicator/message_communicator.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp/detail/tcp_transport.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace tcp_test {

using namespace cohort;
using namespace std::chrono_literals;

inline detail::endpoint loopback() { return detail::resolve({"127.0.0.1", 1}).front().with_port(0); }

inline detail::tls_identity shared_key() {
  detail::job_key key{};
  key[0] = std::byte{42};
  return {key, "test"};
}

/// Listening sockets and memberships of ranks on this host.
struct tcp_job {
  explicit tcp_job(int ranks, detail::tls_identity identity = {}, bool shares_memory = false)
      : identity(std::move(identity)) {
    for (int r = 0; r < ranks; ++r) {
      sockets.push_back(detail::tcp_socket::listening(loopback(), {}));
      members.ranks.push_back({sockets.back().local()});
      members.hosts.push_back(shares_memory ? 0 : static_cast<std::uint32_t>(r));
    }
    members.token[3] = std::byte{7};
  }

  std::unique_ptr<detail::tcp_transport> transport(int rank, communicator_settings const& how) {
    detail::tcp_membership mine = members;
    mine.rank = rank;
    std::vector<detail::tcp_socket> listening;
    listening.push_back(std::move(sockets[static_cast<std::size_t>(rank)]));
    return std::make_unique<detail::tcp_transport>(detail::acceptor(std::move(listening), identity, how.log),
                                                   std::move(mine), identity, how);
  }

  detail::tls_identity identity;
  std::vector<detail::tcp_socket> sockets;
  detail::tcp_membership members;
};

/// Runs `body` on ranks that are threads, over TCP. Rethrows the exception of a rank that has failed itself.
/// The exceptions of ranks to which a failure was reported have lower precedence.
inline void on_tcp_ranks(tcp_job& job, communicator_settings const& how,
                         std::function<void(communicator&)> const& body) {
  std::mutex mutex;
  std::exception_ptr own, reported;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < static_cast<int>(job.sockets.size()); ++rank)
    threads.emplace_back([&, rank] {
      std::unique_ptr<communicator> const world = make_communicator(job.transport(rank, how), how);
      try {
        body(*world);
      } catch (std::exception const& problem) {
        world->abort(problem.what());
        auto const* const ours = dynamic_cast<error const*>(&problem);
        bool const is_reported = ours && ours->why().what.starts_with("rank ");
        std::lock_guard const lock(mutex);
        (is_reported ? reported : own) = std::current_exception();
      }
    });
  for (std::thread& one : threads) one.join();
  if (own) std::rethrow_exception(own);
  if (reported) std::rethrow_exception(reported);
}

inline void on_tcp_ranks(int ranks, std::function<void(communicator&)> const& body,
                         detail::tls_identity identity = {}, bool shares_memory = false) {
  tcp_job job(ranks, std::move(identity), shares_memory);
  on_tcp_ranks(job, {.deadline = 20s}, body);
}

}  // namespace tcp_test
