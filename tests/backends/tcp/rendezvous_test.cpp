// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <poll.h>
#include <sys/socket.h>
#include <cohort/tcp/detail/rendezvous.hpp>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../../data/refused.hpp"
#include "tcp_ranks.hpp"

namespace rendezvous_test {

using namespace tcp_test;
using detail::registration;

struct meeting {
  explicit meeting(int ranks, detail::tls_identity identity = {}) : identity(std::move(identity)) {
    detail::tcp_socket at = detail::tcp_socket::listening(loopback(), {});
    where = {"127.0.0.1", at.local().port()};
    service.emplace(std::move(at), this->identity, "job", ranks,
                    [this](std::string_view line) { lines.emplace_back(line); });
  }
  registration without_port(int rank) const {
    registration made = member(2, "a", rank);
    made.addresses.clear();
    made.problem = "there is\nno port\x1b[2J";
    return made;
  }
  registration member(int ranks, std::string host = "a", int rank = -1) const {
    return {.job = "job",
            .host = std::move(host),
            .ranks = ranks,
            .rank = rank,
            .addresses = {loopback().with_port(static_cast<std::uint16_t>(1000 + rank))}};
  }
  std::string refusal(registration const& wants, std::chrono::milliseconds deadline = 5s) const {
    return refused<communicator_error>([&] { detail::join_rendezvous(where, identity, wants, deadline); });
  }

  /// The error of a process whose settings differ.  It is reported long before the deadline.
  std::string misfit(registration const& wants) const {
    auto const begin = std::chrono::steady_clock::now();
    std::string made = refused<setting_error>([&] { detail::join_rendezvous(where, identity, wants, 60s); });
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
    return made;
  }

  detail::tls_identity identity;
  detail::host_and_port where;
  std::vector<std::string> lines;
  std::optional<detail::rendezvous_service> service;
};

/// Lets processes join at once. Returns their memberships in the order of `all`.
std::vector<detail::tcp_membership> joined(meeting const& at, std::vector<registration> const& all,
                                           detail::tls_identity const& identity) {
  std::vector<detail::tcp_membership> made(all.size());
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < all.size(); ++k)
    threads.emplace_back([&, k] { made[k] = detail::join_rendezvous(at.where, identity, all[k], 10s); });
  for (std::thread& one : threads) one.join();
  return made;
}

TEST(rendezvous, assigns_ranks_by_host) {
  for (bool const encrypts : {false, true}) {
    detail::tls_identity const identity = encrypts ? shared_key() : detail::tls_identity();
    meeting at(4, identity);
    std::vector<registration> all;
    for (int k = 0; k < 4; ++k) {
      all.push_back(at.member(4, k % 2 == 0 ? "b" : "a"));
      all.back().addresses = {loopback().with_port(static_cast<std::uint16_t>(100 + k))};
    }
    auto const made = joined(at, all, identity);
    std::vector<bool> seen(4);
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_EQ(made[k].rank / 2, k % 2 == 0 ? 1 : 0) << "host a has the ranks 0 and 1";
      EXPECT_EQ(made[k].ranks, made[0].ranks);
      EXPECT_EQ(made[k].token, made[0].token);
      EXPECT_EQ(made[k].ranks[static_cast<std::size_t>(made[k].rank)], all[k].addresses);
      seen[static_cast<std::size_t>(made[k].rank)] = true;
    }
    EXPECT_EQ(seen, std::vector<bool>(4, true));
  }
}

TEST(rendezvous, assigns_the_requested_ranks) {
  meeting at(3);
  auto const made = joined(at, {at.member(3, "a", 2), at.member(3, "b", 0), at.member(3, "c", 1)}, {});
  EXPECT_EQ(made[0].rank, 2);
  EXPECT_EQ(made[1].rank, 0);
  EXPECT_EQ(made[2].rank, 1);
  EXPECT_EQ(made[0].ranks[0][0].port(), 1000);
}

TEST(rendezvous, refuses_processes_of_other_jobs_and_invalid_ranks) {
  meeting at(2);
  registration other = at.member(2);
  other.job = "another";
  expect_parts(refused<setting_error>([&] { detail::join_rendezvous(at.where, {}, other, 300ms); }),
               {"cannot join the rendezvous", at.where.text().c_str(), "a service of the job \"another\"",
                R"(the job of the rendezvous is "job", and that of the process "another")", "COHORT_JOB"});
  expect_parts(at.refusal(at.member(2, "a", 2)), {"no valid rank"});
  other = at.member(2);
  other.addresses.clear();
  expect_parts(at.refusal(other), {"no valid rank or address"});
}

/// A process that has sent its registration.
struct process_of_rank {
  process_of_rank(meeting const& at, int rank, int ranks = 2)
      : stream({detail::tcp_socket::connecting(detail::resolve(at.where).front()),
                detail::secure_stream::role::client, at.identity},
               4096) {
    stream.send(at.member(ranks, "a", rank).encoded());
    wait([&] { return (early_ = stream.advance()) || stream.is_flushed(); });
  }
  /// The next answer of the service.
  detail::rendezvous_answer answer() {
    std::optional<std::vector<std::byte>> got = std::exchange(early_, {});
    bool const has_answer = wait([&] { return got || (got = stream.advance()); });
    EXPECT_TRUE(has_answer);
    return has_answer ? detail::rendezvous_answer::decoded(*got) : detail::rendezvous_answer();
  }

  /// Returns the next answer of this kind. Skips other answers, which contain the number of joined processes.
  detail::rendezvous_answer answer_of(detail::rendezvous_answer::kind wanted) {
    detail::rendezvous_answer next = answer();
    while (next.is != wanted && !::testing::Test::HasFailure()) next = answer();
    return next;
  }

  detail::message_stream stream;

 private:
  template <class Condition>
  bool wait(Condition is_met) {
    auto const end = std::chrono::steady_clock::now() + 20s;
    while (!is_met()) {
      if (!stream.failure().empty() || std::chrono::steady_clock::now() >= end) return false;
      pollfd event{stream.descriptor(), POLLIN, 0};
      ::poll(&event, 1, 20);
    }
    return true;
  }

  std::optional<std::vector<std::byte>> early_;
};

/// A process that has joined.
struct member_of_rank : process_of_rank {
  member_of_rank(meeting const& at, int rank, int ranks = 2) : process_of_rank(at, rank, ranks) { answer(); }
};

TEST(rendezvous, reports_differing_numbers_of_ranks_to_all_processes) {
  meeting at(2, shared_key());
  member_of_rank first(at, 0);
  std::string const of_second = at.misfit(at.member(3, "b", 1));
  std::string const of_late = at.misfit(at.member(2, "c", 1));
  auto const begin = std::chrono::steady_clock::now();
  at.service.reset();  // the process that runs the service ends: others may register later
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 1s);
  for (std::string const& one : {first.answer().text, of_second, of_late})
    expect_parts(one,
                 {"the job has 2 ranks in the process that runs the rendezvous, and 3 in rank 1 (127.0.0.1)",
                  "set COHORT_RANKS to the same number on all ranks"});
  EXPECT_EQ(at.lines.size(), 1U) << "not for each process";
}

TEST(rendezvous, reports_to_all_processes_why_one_of_them_cannot_join) {
  meeting at(2, shared_key());
  member_of_rank first(at, 0);
  at.misfit(at.without_port(1));
  EXPECT_EQ(first.answer().text, "rank 1 (127.0.0.1): there is no port [2J") << "without control characters";
}

TEST(rendezvous, continues_without_a_process_whose_settings_differ_if_the_job_has_no_secret) {
  meeting at(3);
  member_of_rank first(at, 0, 3);
  expect_parts(at.misfit(at.member(4, "b", 1)), {"the job has 3 ranks", "and 4 in rank 1"});
  expect_parts(first.answer().text, {"missing: ranks 1, 2; refused 127.0.0.1: the job has 3 ranks", "and 4"});
  at.misfit(at.without_port(1));
  expect_parts(first.answer().text, {"missing: ranks 1, 2; refused 127.0.0.1: rank 1", "there is no port"});
  member_of_rank const second(at, 1, 3);
  EXPECT_EQ(first.answer().text, "missing: rank 2") << "rank 1 was refused before";
  EXPECT_EQ(detail::join_rendezvous(at.where, {}, at.member(3, "a", 2), 20s).rank, 2);
}

TEST(rendezvous, continues_if_a_second_process_of_a_rank_cannot_join) {
  meeting at(2, shared_key());
  member_of_rank const first(at, 1);
  expect_parts(at.misfit(at.without_port(1)), {"rank 1 has already joined"});
  EXPECT_EQ(detail::join_rendezvous(at.where, at.identity, at.member(2, "a", 0), 20s).rank, 0);
}

TEST(rendezvous, refuses_a_second_registration_on_the_same_connection) {
  meeting at(2);
  member_of_rank first(at, 1);
  first.stream.send(at.member(2, "a", 1).encoded());
  EXPECT_EQ(first.answer().text, "it has registered twice on one connection");
}

/// The service of another job, or of an earlier start of this job, may still run for a short time.
TEST(rendezvous, is_retried_until_the_service_of_another_job_has_ended) {
  for (bool const encrypts : {false, true}) {
    std::optional<meeting> earlier(std::in_place, 2, encrypts ? shared_key() : detail::tls_identity());
    detail::host_and_port const where = earlier->where;
    detail::tls_identity const identity =
        encrypts ? detail::tls_identity({}, "next") : detail::tls_identity();
    std::optional<detail::rendezvous_service> next;
    int tries = 0;
    detail::tcp_membership const made = detail::join_rendezvous(
        where, identity, {.job = "next", .host = "h", .ranks = 1, .addresses = {loopback()}}, 60s, [&] {
          if (++tries < 3) return;
          earlier.reset();
          if (next) return;
          if (auto listening = detail::tcp_socket::listening_alone(detail::resolve(where).front()))
            next.emplace(*std::move(listening), identity, "next", 1, sink());
        });
    EXPECT_EQ(made.ranks.size(), 1U);
    EXPECT_TRUE(next.has_value());
  }
}

/// `cohort run` names a restart "job 1". A further restart succeeds, because the service of "job" ends by
/// then.
TEST(rendezvous, throws_communicator_error_if_only_an_earlier_start_answers) {
  for (bool const encrypts : {false, true}) {
    detail::tls_identity const identity = encrypts ? shared_key() : detail::tls_identity();
    meeting earlier(2, identity);
    registration mine = earlier.member(2);
    mine.job = "job 1";
    expect_parts(refused<communicator_error>([&] {
                   detail::join_rendezvous(
                       earlier.where, encrypts ? detail::tls_identity({}, "test 1") : identity, mine, 500ms);
                 }),
                 {"cannot join the rendezvous", "a service of the job \"job 1\"", "COHORT_JOB"});
  }
}

TEST(rendezvous, refuses_a_second_process_of_a_rank_and_continues) {
  meeting at(2);
  member_of_rank first(at, 1);
  expect_parts(at.misfit(at.member(2, "b", 1)),
               {"rank 1 has already joined from 127.0.0.1:", "give each process its own COHORT_RANK"});
  EXPECT_EQ(detail::join_rendezvous(at.where, {}, at.member(2, "a", 0), 20s).rank, 0);
  EXPECT_EQ(first.answer_of(detail::rendezvous_answer::kind::complete).members.rank, 1);
}

TEST(rendezvous, assigns_a_rank_to_a_second_process_once_the_first_has_ended) {
  meeting at(2);
  std::optional<member_of_rank> first(std::in_place, at, 1);
  std::optional<detail::tcp_membership> made;
  std::thread second([&] { made = detail::join_rendezvous(at.where, {}, at.member(2, "b", 1), 20s); });
  first->answer();  // the second process has registered
  first.reset();
  EXPECT_EQ(detail::join_rendezvous(at.where, {}, at.member(2, "a", 0), 20s).rank, 0);
  second.join();
  ASSERT_TRUE(made);
  EXPECT_EQ(made->rank, 1);
}

TEST(rendezvous, assigns_a_rank_to_another_process_after_a_host_was_lost) {
  meeting at(2);
  member_of_rank const first(at, 1);
  sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
  sock_fprog const drops_all{.len = 1, .filter = &drop};
  ASSERT_EQ(
      ::setsockopt(first.stream.descriptor(), SOL_SOCKET, SO_ATTACH_FILTER, &drops_all, sizeof drops_all), 0);
  process_of_rank second(at, 1);
  // The job has all of its ranks, but is not complete before the service knows which process has rank 1.
  EXPECT_EQ(detail::join_rendezvous(at.where, {}, at.member(2, "a", 0), 20s).rank, 0);
  EXPECT_EQ(second.answer().members.rank, 1);
}

TEST(rendezvous, reports_at_the_deadline_how_many_have_joined) {
  meeting at(3);
  expect_parts(at.refusal(at.member(3), 200ms),
               {"not all processes of the job have joined in time", at.where.text().c_str(),
                "3 processes within 200 ms", "got 1; joined: 1 from 127.0.0.1"});
}

TEST(rendezvous, reports_which_ranks_are_missing) {
  meeting at(12);
  std::jthread const other([&] { at.refusal(at.member(12, "a", 3), 3s); });
  expect_parts(at.refusal(at.member(12, "b", 0), 3s),
               {"12 processes within 3000 ms", "got 2; missing: ranks 1, 2, 4, 5, 6, 7, 8, 9 and 2 others"});
}

TEST(rendezvous, reports_the_address_of_a_lost_process) {
  meeting at(2);
  at.refusal(at.member(2), 100ms);
  EXPECT_EQ(joined(at, {at.member(2), at.member(2)}, {})[0].ranks.size(), 2U);
  at.service.reset();
  ASSERT_EQ(at.lines.size(), 1U);
  EXPECT_EQ(at.lines[0].substr(0, at.lines[0].rfind(':', at.lines[0].rfind(':') - 1)),
            "rendezvous: lost 127.0.0.1");
}

TEST(rendezvous, accepts_a_process_that_registers_again_after_leaving) {
  meeting at(2);
  at.refusal(at.member(2), 100ms);
  EXPECT_EQ(joined(at, {at.member(2), at.member(2)}, {})[0].ranks.size(), 2U);
}

TEST(rendezvous, reports_an_address_without_a_service) {
  detail::host_and_port where;
  { where = {"127.0.0.1", detail::tcp_socket::listening(loopback(), {}).local().port()}; }
  expect_parts(refused<communicator_error>(
                   [&] { detail::join_rendezvous(where, {}, {.job = "job", .ranks = 2}, 250ms); }),
               {"cannot join the rendezvous", where.text().c_str(), "Connection refused", "no firewall"});
}

TEST(rendezvous, refuses_processes_without_the_secret) {
  meeting at(2, shared_key());
  detail::job_key other{};
  auto const join = [&](detail::tls_identity const& with) {
    return [&] { detail::join_rendezvous(at.where, with, at.member(2), 300ms); };
  };
  // A restart would not help, so these errors are not communicator_error.
  expect_parts(
      refused<setting_error>(join({})),
      {"the ranks differ in their encryption", "encrypts, and this process does not", "COHORT_ENCRYPTION"});
  expect_parts(refused<setting_error>(join({other, "test"})),
               {"cannot join the rendezvous", "a service with the same secret", "COHORT_SECRET_FILE"});
  expect_parts(refused<setting_error>(join({{std::byte{42}}, "x"})),
               {"cannot join the rendezvous", "a service of the job \"job\"", "COHORT_JOB"});
  EXPECT_EQ(joined(at, {at.member(2), at.member(2)}, shared_key())[1].ranks.size(), 2U);
}

TEST(rendezvous, reports_that_only_one_side_encrypts) {
  meeting at(2);
  expect_parts(
      refused<setting_error>([&] { detail::join_rendezvous(at.where, shared_key(), at.member(2), 300ms); }),
      {"cannot join the rendezvous", "a service that encrypts, as this process does", "COHORT_ENCRYPTION",
       "got a rendezvous that does not encrypt"});
  expect_parts(at.refusal(at.member(2, "a", 0), 1500ms),
               {"not all processes of the job have joined in time",
                "missing: rank 1; refused 127.0.0.1: it encrypts, and this process does not"});
}

TEST(rendezvous, reports_a_wrong_secret_long_before_the_deadline) {
  meeting at(2, shared_key());
  detail::tls_identity const wrong(detail::job_key{}, "test");
  auto const begin = std::chrono::steady_clock::now();
  expect_parts(refused<setting_error>([&] { detail::join_rendezvous(at.where, wrong, at.member(2), 120s); }),
               {"a service with the same secret"});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 60s);
}

TEST(rendezvous, reports_a_port_of_another_program) {
  detail::tcp_socket at = detail::tcp_socket::listening(loopback(), {});
  std::jthread const other([&](std::stop_token const& stops) {
    std::vector<detail::tcp_socket> open;
    while (!stops.stop_requested())
      if (std::optional<detail::tcp_socket> one = at.accept()) {
        std::string_view const text = "HTTP/1.1 400 Bad Request\r\n\r\n";
        one->send(std::as_bytes(std::span(text)));
        open.push_back(*std::move(one));
      } else {
        std::this_thread::yield();
      }
  });
  for (detail::tls_identity const& identity : {detail::tls_identity(), shared_key()})
    expect_parts(refused<setting_error>([&] {
                   detail::join_rendezvous({"127.0.0.1", at.local().port()}, identity,
                                           {.job = "job", .ranks = 2}, 300ms);
                 }),
                 {"cannot join the rendezvous", "a rendezvous of Cohort at this port, not another program"});
}

TEST(rendezvous, reports_a_program_that_does_not_answer) {
  detail::tcp_socket const at = detail::tcp_socket::listening(loopback(), {});
  expect_parts(
      refused<communicator_error>([&] {
        detail::join_rendezvous({"127.0.0.1", at.local().port()}, {}, {.job = "job", .ranks = 2}, 300ms);
      }),
      {"cannot join the rendezvous", "accepts connections and does not answer"});
}

TEST(rendezvous, reports_a_wrong_secret_even_if_the_same_process_runs_the_service_later) {
  std::optional<meeting> at(std::in_place, 2, shared_key());
  detail::host_and_port const where = at->where;
  detail::tls_identity const wrong(detail::job_key{}, "test");
  std::optional<detail::rendezvous_service> own;
  int tries = 0;
  auto const retry = [&] {
    if (++tries < 5) return;
    at.reset();
    if (own) return;
    if (auto listening = detail::tcp_socket::listening_alone(detail::resolve(where).front()))
      own.emplace(*std::move(listening), wrong, "job", 2, sink());
  };
  expect_parts(refused<setting_error>([&] {
                 detail::join_rendezvous(where, wrong,
                                         {.job = "job", .host = "h", .ranks = 2, .addresses = {loopback()}},
                                         2s, retry);
               }),
               {"a service with the same secret", "the processes that had joined were 1"});
  EXPECT_TRUE(own.has_value());
}

TEST(rendezvous, ignores_a_service_with_another_secret_once_the_right_service_has_members) {
  std::optional<meeting> at(std::in_place, 3, detail::tls_identity(detail::job_key{}, "test"));
  detail::host_and_port const where = at->where;
  std::optional<detail::rendezvous_service> right;
  std::optional<std::jthread> other;
  registration const mine{.job = "job", .host = "h", .ranks = 3, .addresses = {loopback()}};
  int tries = 0;
  auto const retry = [&] {
    if (++tries < 5 || right) return;
    at.reset();
    if (auto listening = detail::tcp_socket::listening_alone(detail::resolve(where).front())) {
      right.emplace(*std::move(listening), shared_key(), "job", 3, sink());
      other.emplace([&] {
        refused<communicator_error>([&] { detail::join_rendezvous(where, shared_key(), mine, 4s); });
      });
    }
  };
  expect_parts(
      refused<communicator_error>([&] { detail::join_rendezvous(where, shared_key(), mine, 3s, retry); }),
      {"not all processes of the job have joined in time", "got 2"});
}

/// The process that runs the service may reach its deadline first.
TEST(rendezvous, reports_missing_processes_even_if_the_service_has_ended) {
  std::optional<meeting> at(std::in_place, 3);
  detail::host_and_port const where = at->where;
  registration const mine{.job = "job", .host = "h", .ranks = 3, .addresses = {loopback()}};
  std::jthread const ends([&] {
    bool both = false;  // whether each process was notified of the other one
    for (int tries = 0; tries < 10 && !both; ++tries)
      both = refused<communicator_error>([&] {
               detail::join_rendezvous(where, {}, mine, 400ms);
             }).find("joined: 2 from")
             != std::string::npos;
    at.reset();
  });
  expect_parts(refused<communicator_error>([&] { detail::join_rendezvous(where, {}, mine, 5s); }),
               {"not all processes of the job have joined in time", "3 processes within 5000 ms",
                "joined: ", "then the rendezvous was lost"});
}

TEST(rendezvous, logs_a_wrong_secret_once_for_each_host) {
  meeting at(2, shared_key());
  detail::tls_identity const wrong(detail::job_key{}, "test");
  refused<setting_error>([&] { detail::join_rendezvous(at.where, wrong, at.member(2), 800ms); });
  at.service.reset();
  ASSERT_EQ(at.lines.size(), 1U);
  EXPECT_NE(at.lines[0].find("does not have the secret or certificate of the job"), std::string::npos);
}

TEST(rendezvous, prefers_processes_to_idle_connections) {
  meeting at(2);
  std::vector<detail::tcp_socket> idle;
  detail::endpoint const where = detail::resolve(at.where).front();
  for (int k = 0; k < 300; ++k) idle.push_back(detail::tcp_socket::connecting(where));
  EXPECT_EQ(joined(at, {at.member(2), at.member(2)}, {})[0].ranks.size(), 2U);
  int closed = 0;
  for (detail::tcp_socket& one : idle) {
    std::byte any[1];
    closed += one.receive(std::span(any)) ? 0 : 1;
  }
  EXPECT_GE(closed, 300 - 256);
}

TEST(rendezvous, is_retried_if_a_connection_stays_silent) {
  detail::tcp_socket listening = detail::tcp_socket::listening(loopback(), {});
  detail::host_and_port const where{"127.0.0.1", listening.local().port()};
  registration const mine{.job = "job", .host = "h", .ranks = 1, .addresses = {loopback()}};
  std::optional<detail::tcp_membership> joined;
  std::thread process([&] { joined = detail::join_rendezvous(where, {}, mine, 30s); });
  std::optional<detail::tcp_socket> silent;
  for (auto const end = std::chrono::steady_clock::now() + 20s;
       !silent && std::chrono::steady_clock::now() < end;)
    silent = listening.accept();
  EXPECT_TRUE(silent);
  detail::rendezvous_service const service(std::move(listening), {}, "job", 1, sink());
  process.join();
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->ranks.size(), 1U);
}

TEST(rendezvous, counts_a_repeated_registration_once) {
  detail::tcp_socket listening = detail::tcp_socket::listening(loopback(), {});
  detail::endpoint const at = listening.local();
  registration const mine{.job = "job", .host = "h", .ranks = 2, .addresses = {loopback()}};
  auto const registers = [&] {
    detail::message_stream made({detail::tcp_socket::connecting(at), detail::secure_stream::role::client, {}},
                                4096);
    made.send(mine.encoded());
    for (int k = 0; k < 1000 && !made.is_flushed(); ++k) made.advance();
    return made;
  };
  registers();  // and disconnects: the service finds both connections, the first one closed
  detail::message_stream second = registers();
  detail::rendezvous_service const service(std::move(listening), {}, "job", 2, sink());
  detail::tcp_membership const other = detail::join_rendezvous({"127.0.0.1", at.port()}, {}, mine, 20s);
  std::optional<std::vector<std::byte>> answer;
  for (auto const end = std::chrono::steady_clock::now() + 20s;
       second.failure().empty() && std::chrono::steady_clock::now() < end;) {
    answer = second.advance();
    if (!answer) continue;
    detail::rendezvous_answer const found = detail::rendezvous_answer::decoded(*answer);
    if (found.is != detail::rendezvous_answer::kind::complete) continue;
    EXPECT_EQ(found.members.rank + other.rank, 1);
    EXPECT_EQ(found.members.token, other.token);
    return;
  }
  FAIL() << "no answer";
}

TEST(rendezvous, is_retried_until_the_service_starts) {
  detail::host_and_port where;
  { where = {"127.0.0.1", detail::tcp_socket::listening(loopback(), {}).local().port()}; }
  std::optional<detail::rendezvous_service> service;
  int times = 0;
  detail::tcp_membership const made = detail::join_rendezvous(
      where, {}, {.job = "job", .host = "h", .ranks = 1, .addresses = {loopback()}}, 10s, [&] {
        if (++times == 2)
          service.emplace(*detail::tcp_socket::listening_alone(detail::resolve(where).front()),
                          detail::tls_identity(), "job", 1, sink());
      });
  EXPECT_EQ(made.ranks.size(), 1U);
  EXPECT_GE(times, 2);
}

TEST(registration, is_refused_if_truncated_and_read_or_refused_if_bytes_are_changed) {
  registration const one{.job = "job", .host = "h", .ranks = 2, .rank = 1, .addresses = {loopback()}};
  std::vector<std::byte> const good = one.encoded();
  EXPECT_EQ(registration::decoded(good).addresses, one.addresses);
  EXPECT_EQ(registration::decoded(good).rank, 1);
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_THROW(registration::decoded(std::span(good).first(size)), communicator_error) << size;
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::vector<std::byte> wrong = good;
    wrong[at] ^= std::byte{0xff};
    try {
      registration::decoded(wrong);
    } catch (communicator_error const&) {
    }
  }
}

}  // namespace rendezvous_test
