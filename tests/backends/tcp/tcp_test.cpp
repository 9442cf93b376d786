// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cohort/tcp.hpp>
#include <cohort/tcp/detail/tcp_start.hpp>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "../../data/refused.hpp"
#include "tcp_ranks.hpp"

namespace tcp_test_of_processes {

using namespace tcp_test;

/// A port of the loopback interface on which no process listens.
std::string free_address() {
  return "127.0.0.1:" + std::to_string(detail::tcp_socket::listening(loopback(), {}).local().port());
}

std::string secret_file(std::string const& name, std::string const& secret, int mode = 0600) {
  std::string const path = fresh_path(name);
  std::ofstream(path) << secret;
  ::chmod(path.c_str(), static_cast<mode_t>(mode));
  return path;
}

/// Runs `body` on ranks that are threads and meet at an address.
void on_joined_ranks(int ranks, tcp_settings how, std::function<void(communicator&)> const& body) {
  how.join = free_address();
  how.ranks = ranks;
  std::vector<std::thread> threads;
  for (int k = 0; k < ranks; ++k)
    threads.emplace_back([&] {
      std::unique_ptr<communicator> const world = make_tcp(how, {.deadline = 20s});
      body(*world);
    });
  for (std::thread& one : threads) one.join();
}

void sum_of_all(communicator& world) {
  std::vector<float> all(100'000, static_cast<float>(world.rank() + 1));
  world.allreduce(std::span(all));
  EXPECT_EQ(all[0], static_cast<float>(world.size() * (world.size() + 1) / 2));
  EXPECT_EQ(all.back(), all[0]);
}

TEST(tcp, connects_ranks_at_a_common_address) {
  on_joined_ranks(1, {}, sum_of_all);
  on_joined_ranks(3, {}, sum_of_all);
  on_joined_ranks(3, {.secret_file = secret_file("secret", "0123456789abcdef\n")}, sum_of_all);
  on_joined_ranks(2, {.interfaces = "127.0.0.0/8", .ports = "20000-32000"}, sum_of_all);
}

TEST(tcp, works_over_ipv6) {
  std::vector<detail::endpoint> all;
  try {
    all = detail::local_addresses("::1/128");
  } catch (setting_error const&) {
    GTEST_SKIP() << "this host has no IPv6";
  }
  std::uint16_t const port = detail::tcp_socket::listening(all.front(), {}).local().port();
  std::vector<std::thread> threads;
  for (int k = 0; k < 2; ++k)
    threads.emplace_back([&] {
      sum_of_all(*make_tcp({.join = "[::1]:" + std::to_string(port), .ranks = 2}, {.deadline = 20s}));
    });
  for (std::thread& one : threads) one.join();
}

TEST(tcp, lists_its_addresses_in_the_order_of_the_selected_interfaces) {
  std::vector<detail::endpoint> const all = detail::local_addresses("");
  auto const v6 = std::ranges::find_if(all, [](detail::endpoint const& one) { return one.is_v6(); });
  if (v6 == all.end()) GTEST_SKIP() << "this host has no IPv6";
  std::string const other = v6->host().substr(0, v6->host().find('%')) + "/128";
  auto const hosts = [](std::string const& selection) {
    std::vector<std::string> made;
    for (detail::endpoint const& one : detail::local_addresses(selection)) made.push_back(one.host());
    return made;
  };
  EXPECT_EQ(hosts("127.0.0.1/32," + other), (std::vector<std::string>{"127.0.0.1", v6->host()}));
  EXPECT_EQ(hosts(other + ",127.0.0.1/32"), (std::vector<std::string>{v6->host(), "127.0.0.1"}));
}

TEST(tcp, listens_only_on_addresses_that_the_system_allows) {
  std::vector<std::string> lines;
  sink const log = [&](std::string_view line) { lines.emplace_back(line); };
  // The system refuses an address of no interface in the same way as a tentative address.
  detail::endpoint const unusable = detail::resolve({"192.0.2.1", 1}).front().with_port(0);
  std::vector<detail::tcp_socket> const made = detail::listen_on({unusable, loopback()}, {}, {}, log);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].local().host(), "127.0.0.1");
  ASSERT_EQ(lines.size(), 1U);
  expect_parts(lines[0], {"this process does not listen on 192.0.2.1", "Cannot assign requested address"});
  EXPECT_FALSE(detail::tcp_socket::listening_alone(unusable.with_port(29'400)));
  expect_parts(refused<communicator_error>([&] { detail::listen_on({unusable}, {}, {}, log); }),
               {"cannot listen", "192.0.2.1", "Cannot assign requested address"});
}

/// A process of the previous start may still use the port.
TEST(tcp, waits_until_its_port_is_free) {
  std::optional<detail::tcp_socket> other = detail::tcp_socket::listening(loopback(), {});
  std::uint16_t const port = other->local().port();
  auto const listens = [&](std::chrono::milliseconds longest) {
    return detail::listen_on({loopback()}, {port, port}, std::chrono::steady_clock::now() + longest, {});
  };
  std::jthread const ends([&] {
    auto const begin = std::chrono::steady_clock::now();
    expect_parts(refused<setting_error>([&] { listens(300ms); }), {"there is no port to listen on"});
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 300ms);
    other.reset();
  });
  EXPECT_EQ(listens(60s).size(), 1U);
}

TEST(tcp, reports_a_range_of_too_few_ports_to_all_ranks) {
  std::uint16_t const port = detail::tcp_socket::listening(loopback(), {}).local().port();
  std::string const join = free_address();
  std::string const secret = secret_file("secret of ports", "0123456789abcdef\n");
  auto const begin = std::chrono::steady_clock::now();
  std::vector<std::string> said(2);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank)
    ranks.emplace_back([&, rank] {
      said[static_cast<std::size_t>(rank)] = refused<setting_error>([&] {
        make_tcp(
            {.join = join, .ranks = 2, .rank = rank, .ports = std::to_string(port), .secret_file = secret},
            {.deadline = 60s});
      });
    });
  for (std::thread& one : ranks) one.join();
  for (std::string const& one : said)
    expect_parts(one, {"there is no port to listen on", "COHORT_PORTS", "at least one for each rank",
                       "got 1 port; the last one: Address already in use"});
  EXPECT_NE(said[0].starts_with("there is no port"), said[1].starts_with("there is no port"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 50s);
}

TEST(tcp, reaches_link_local_addresses_through_its_own_interfaces) {
  auto const address = [](char const* text, std::uint32_t scope = 0) {
    return detail::endpoint::decoded(detail::resolve({text, 5}).front().encoded()).with_scope(scope);
  };
  detail::endpoint const sent = address("fe80::2", 7);
  EXPECT_EQ(detail::endpoint::decoded(sent.encoded()).scope(), 0U) << "an interface of the sender";
  auto const reached = detail::reached_from(
      {address("fd00::1"), address("fe80::1", 3), address("fe80::5", 4)}, {address("10.0.0.2"), sent});
  ASSERT_EQ(reached.size(), 3U);
  EXPECT_EQ(reached[0].host(), "10.0.0.2");
  for (std::size_t k = 1; k < 3; ++k) {
    EXPECT_EQ(reached[k].with_scope(0), address("fe80::2"));
    EXPECT_EQ(reached[k].scope(), k + 2);
    EXPECT_EQ(reached[k].port(), 5);
  }
  EXPECT_EQ(detail::reached_from({address("10.0.0.1")}, {sent}).size(), 0U);
}

TEST(tcp, refuses_invalid_settings) {
  auto const says = [](tcp_settings const& how) {
    return refused<setting_error>([&] { make_tcp(how, {.deadline = 1s}); });
  };
  expect_parts(says({.ranks = 2}), {"join", "HOST:PORT", "COHORT_JOIN"});
  expect_parts(says({.join = "127.0.0.1:1"}), {"ranks", "COHORT_RANKS", "got 0"});
  expect_parts(says({.join = "127.0.0.1:1", .ranks = 2, .rank = 2}), {"rank", "got 2"});
  for (char const* bad : {"host", "host:", ":5", "host:x", "host:70000", "host:0", "fd00::1:5", "[]:5"})
    expect_parts(says({.join = bad, .ranks = 2}), {"join", "HOST:PORT", bad});
  for (char const* bad : {"a", "5-4", "0", "1-70000", "5-", "-5"})
    expect_parts(says({.join = free_address(), .ranks = 1, .ports = bad}), {"ports", "FIRST-LAST", bad});
  expect_parts(says({.join = free_address(), .ranks = 1, .interfaces = "none0"}),
               {"no network interface is selected", "lo 127.0.0.1", "none0"});
  expect_parts(says({.join = free_address(), .ranks = 1, .interfaces = "10.0.0.0/33"}), {"ADDRESS/BITS"});
  expect_parts(
      says(
          {.join = free_address(), .ranks = 1, .secret_file = secret_file("open", "0123456789abcdef", 0644)}),
      {"other users may read the secret", "chmod 600", "644"});
  expect_parts(
      says({.join = free_address(), .ranks = 1, .secret_file = secret_file("short", "0123456789abcde\n")}),
      {"invalid length", "16 to 4096 bytes", "got 15"});
  expect_parts(says({.join = free_address(), .ranks = 1, .certificate = "a"}),
               {"a certificate is not complete"});
}

TEST(tcp, refuses_unencrypted_connections_between_hosts_by_default) {
  auto const check = [](tcp_settings const& how, char const* address) {
    detail::endpoint const one = detail::resolve({address, 1}).front();
    detail::require_encryption(how, detail::identity_of(how), {one});
  };
  EXPECT_NO_THROW(check({}, "127.0.0.1"));
  EXPECT_NO_THROW(check({.encryption = tcp_encryption::off}, "10.0.0.1"));
  EXPECT_NO_THROW(check({.secret_file = secret_file("key", "0123456789abcdef")}, "10.0.0.1"));
  for (char const* address : {"10.0.0.1", "fd00::1"})
    expect_parts(refused<setting_error>([&] { check({}, address); }),
                 {"neither encrypted nor authenticated", address, "COHORT_SECRET_FILE"});
}

TEST(tcp, refuses_a_secret_if_encryption_is_off) {
  for (tcp_settings const& how : {tcp_settings{.secret_file = secret_file("given", "0123456789abcdef")},
                                  tcp_settings{.certificate = "c", .key = "k", .authorities = "a"}}) {
    tcp_settings off = how;
    off.encryption = tcp_encryption::off;
    expect_parts(refused<setting_error>([&] { detail::identity_of(off); }),
                 {"a secret or certificates, and its encryption is off", "COHORT_ENCRYPTION", "both"});
  }
}

TEST(tcp, reports_once_that_a_job_has_no_secret) {
  std::mutex mutex;
  auto const lines_of = [&](tcp_settings how) {
    how.join = free_address();
    how.ranks = 3;
    std::vector<std::string> lines;
    std::vector<std::thread> threads;
    for (int k = 0; k < how.ranks; ++k)
      threads.emplace_back([&] {
        make_tcp(how, {.deadline = 20s, .log = [&](std::string_view line) {
                         std::lock_guard const lock(mutex);
                         lines.emplace_back(line);
                       }});
      });
    for (std::thread& one : threads) one.join();
    return lines;
  };
  std::vector<std::string> const open = lines_of({});
  ASSERT_EQ(open.size(), 1U);
  expect_parts(open[0], {"the job has no secret", "every user of this host", "COHORT_SECRET_FILE"});
  EXPECT_EQ(lines_of({.secret_file = secret_file("used", "0123456789abcdef")}), std::vector<std::string>());
  EXPECT_EQ(lines_of({.encryption = tcp_encryption::off}), std::vector<std::string>());
}

TEST(tcp, refuses_an_unencrypted_rendezvous_between_hosts_by_default) {
  for (detail::endpoint const& one : detail::local_addresses("")) {
    if (one.is_loopback() || one.is_v6()) continue;
    expect_parts(refused<setting_error>([&] {
                   make_tcp({.join = one.with_port(29'400).text(), .ranks = 1, .interfaces = "lo"},
                            {.deadline = 1s});
                 }),
                 {"neither encrypted nor authenticated", one.host().c_str()});
    return;
  }
  GTEST_SKIP() << "this host has only loopback addresses";
}

using variables = std::vector<std::pair<char const*, char const*>>;

/// Sets variables of the environment until the end of a scope.
class environment {
 public:
  explicit environment(variables all) : all_(std::move(all)) {
    for (auto const& [name, value] : all_) ::setenv(name, value, 1);
  }
  ~environment() {
    for (auto const& [name, value] : all_) ::unsetenv(name);
  }

 private:
  variables all_;
};

TEST(tcp, reads_the_variables_of_launchers) {
  EXPECT_FALSE(tcp_started());
  {
    environment const torchrun(
        variables{{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "node0"}, {"MASTER_PORT", "4000"}});
    tcp_settings const found = from_environment();
    EXPECT_EQ(found.rank, 3);
    EXPECT_EQ(found.ranks, 8);
    EXPECT_EQ(found.join, "node0:4000");
    EXPECT_TRUE(tcp_started());
    environment const agent(variables{{"TORCHELASTIC_USE_AGENT_STORE", "True"}});
    EXPECT_EQ(from_environment().join, "node0:4001");
    environment const own(
        variables{{"COHORT_JOIN", "x:1"}, {"COHORT_RANKS", "2"}, {"COHORT_RANK", "1"}, {"COHORT_JOB", "j"}});
    EXPECT_EQ(from_environment().join, "x:1");
    EXPECT_EQ(from_environment().ranks, 2);
    EXPECT_EQ(from_environment().rank, 1);
    EXPECT_EQ(from_environment().job, "j");
    EXPECT_EQ(from_environment({.join = "y:2", .job = "k", .ranks = 5, .rank = 4}).join, "y:2");
    EXPECT_EQ(from_environment({.join = "y:2", .job = "k", .ranks = 5, .rank = 4}).job, "k");
  }
  {
    environment const slurm(variables{{"SLURM_PROCID", "1"},
                                      {"SLURM_NTASKS", "4"},
                                      {"SLURM_STEP_NODELIST", "node[003-007,9],x"},
                                      {"SLURM_JOB_ID", "12345"}});
    EXPECT_EQ(from_environment().join, "node003:20345");
    EXPECT_EQ(from_environment().ranks, 4);
    for (auto const& [list, first] :
         variables{{"a", "a"}, {"a,b", "a"}, {"r[1-2]n5,c", "r1n5"}, {"n-[7,9]", "n-7"}}) {
      environment const other(variables{{"SLURM_STEP_NODELIST", list}});
      EXPECT_EQ(from_environment().join, std::string(first) + ":20345");
    }
  }
  {
    environment const step(variables{{"SLURM_PROCID", "0"},
                                     {"SLURM_NTASKS", "1"},
                                     {"SLURM_STEP_NODELIST", "a"},
                                     {"SLURM_JOB_ID", "7"},
                                     {"SLURM_STEP_ID", "2"},
                                     {"COHORT_RANKS", "4"}});
    tcp_settings const found = from_environment();
    EXPECT_EQ(found.job, "slurm 7.2");
    EXPECT_EQ(found.join, "a:20209");
    EXPECT_EQ(found.ranks, 4);
    EXPECT_EQ(found.rank, -1) << "the only task of a step may start four ranks";
  }
  {
    environment const files(variables{{"COHORT_CERTIFICATE", "c"},
                                      {"COHORT_KEY", "k"},
                                      {"COHORT_AUTHORITIES", "a"},
                                      {"COHORT_ENCRYPTION", "off"},
                                      {"JOB_COMPLETION_INDEX", "3"}});
    tcp_settings const found = from_environment();
    EXPECT_EQ(found.certificate + found.key + found.authorities, "cka");
    EXPECT_EQ(found.encryption, tcp_encryption::off);
    EXPECT_EQ(found.rank, 3);
  }
  auto const refuses = [](variables const& all, std::initializer_list<char const*> parts) {
    environment const set(all);
    expect_parts(refused<setting_error>([] { from_environment(); }), parts);
  };
  refuses({{"PMI_RANK", "x"}}, {"PMI_RANK", "whole number", "\"x\""});
  refuses({{"COHORT_ENCRYPTION", "on"}}, {"COHORT_ENCRYPTION", "automatic or off", "\"on\""});
  refuses({{"MASTER_ADDR", "a"}, {"MASTER_PORT", "70000"}}, {"MASTER_PORT", "1 to 65535", "70000"});
}

/// Runs `body` in processes that meet at an address. Returns their exit statuses. Kills a stopped process
/// after the preceding processes have ended.
std::vector<int> statuses(int ranks, std::function<void(communicator&)> const& body,
                          communicator_settings const& how = {.deadline = 20s}) {
  std::string const join = free_address();
  std::vector<pid_t> started;
  for (int k = 0; k < ranks; ++k) {
    pid_t const child = ::fork();
    if (child == 0) {
      ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);
      ::_exit(launch<tcp>(tcp_settings{.join = join, .ranks = ranks, .rank = k}, how, body));
    }
    started.push_back(child);
  }
  std::vector<int> all;
  for (pid_t const child : started) {
    int status = 0;
    ::waitpid(child, &status, WUNTRACED);
    if (WIFSTOPPED(status)) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
    }
    all.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  }
  return all;
}

TEST(launch_of_tcp, returns_when_all_ranks_have_returned) {
  EXPECT_EQ(statuses(3, [](communicator& world) { world.barrier(); }), (std::vector{0, 0, 0}));
}

TEST(launch_of_tcp, exits_on_every_rank_with_the_status_of_the_first_failure) {
  for (int const failed : {0, 1, 2})
    EXPECT_EQ(statuses(3,
                       [failed](communicator& world) {
                         world.barrier();
                         if (world.rank() == failed) throw std::runtime_error("the disk is full");
                         world.barrier();
                       }),
              (std::vector{1, 1, 1}))
        << failed;
  EXPECT_EQ(statuses(3,
                     [](communicator& world) {
                       world.barrier();
                       if (world.rank() == 1) throw communicator_error({.what = "other ranks are lost"});
                       try {
                         world.barrier();
                       } catch (communicator_error const& first) {
                         throw std::runtime_error(first.what());  // as a new error of this rank
                       }
                     }),
            (std::vector{75, 75, 75}));
}

TEST(launch_of_tcp, exits_with_the_same_status_if_all_ranks_fail_together) {
  for (int k = 0; k < 5; ++k)
    EXPECT_EQ(statuses(4,
                       [](communicator& world) {
                         world.barrier();
                         throw std::runtime_error("the loss is not finite");
                       }),
              (std::vector{1, 1, 1, 1}));
}

TEST(launch_of_tcp, reports_a_killed_rank_before_the_heartbeat) {
  auto const begin = std::chrono::steady_clock::now();
  EXPECT_EQ(statuses(3,
                     [](communicator& world) {
                       world.barrier();
                       if (world.rank() == 2) ::raise(SIGKILL);
                       world.barrier();
                     },
                     {.deadline = 60s, .heartbeat = 60s}),
            (std::vector{75, 75, -SIGKILL}));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

TEST(launch_of_tcp, reports_a_rank_that_is_killed_while_the_others_end) {
  EXPECT_EQ(statuses(3,
                     [](communicator& world) {
                       world.barrier();
                       if (world.rank() < 2) return;
                       ::poll(nullptr, 0, 200);
                       ::raise(SIGKILL);
                     }),
            (std::vector{75, 75, -SIGKILL}));
}

TEST(launch_of_tcp, reports_a_lost_rank_although_the_body_ignores_the_error) {
  EXPECT_EQ(statuses(2,
                     [](communicator& world) {
                       world.barrier();
                       if (world.rank() == 1) ::raise(SIGKILL);
                       refused<communicator_error>([&] { world.barrier(); });
                     }),
            (std::vector{75, -SIGKILL}));
}

TEST(launch_of_tcp, reports_a_stopped_rank_after_the_heartbeat) {
  EXPECT_EQ(statuses(2,
                     [](communicator& world) {
                       world.barrier();
                       if (world.rank() == 1) ::raise(SIGSTOP);
                       world.barrier();
                     },
                     {.deadline = 60s, .heartbeat = 300ms}),
            (std::vector{75, -SIGKILL}));
}

TEST(tcp, fails_before_the_deadline_if_all_other_ranks_have_ended) {
  tcp_job job(3);
  try {
    on_tcp_ranks(job, {.deadline = 60s}, [](communicator& world) {
      world.barrier();  // connects all ranks: without a connection, an ending rank sends no farewell
      if (world.rank() == 1) world.barrier();
    });
    FAIL() << "nothing thrown";
  } catch (communicator_error const& e) {
    std::string const text = e.what();
    EXPECT_TRUE(text.starts_with("ranks 0, 2 have ended")) << text;
    EXPECT_EQ(text.find("after 60"), std::string::npos) << text;
  }
}

}  // namespace tcp_test_of_processes
