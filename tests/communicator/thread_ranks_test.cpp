// SPDX-License-Identifier: Apache-2.0
// covers: communicator/allreduce_parts
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cohort/communicator/detail/thread_transport.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/communicator/message_communicator.hpp>
#include <cohort/communicator/thread_ranks.hpp>
#include <cohort/execution/team.hpp>
#include <cohort/random/stream.hpp>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "../long_tests.hpp"
#include "conformance.hpp"
#include "with_a_thread.hpp"

namespace thread_ranks_test {

using namespace cohort;
using namespace std::chrono_literals;

/// Like launch<threads>, over transports that need a dedicated thread.
struct threads_with_movers {
  template <class Body>
  static void launch(int ranks, Body body) {
    auto const hub = std::make_shared<detail::thread_hub>(ranks, "threads");
    std::vector<std::string> wrong(static_cast<std::size_t>(ranks));
    std::vector<std::thread> running;
    for (int rank = 0; rank < ranks; ++rank)
      running.emplace_back([&, rank] {
        auto const world = make_communicator(
            std::make_unique<with_a_thread>(std::make_unique<detail::thread_transport>(hub, rank)),
            {.deadline = 60s});
        try {
          body(*world);
        } catch (std::exception const& e) {
          wrong[static_cast<std::size_t>(rank)] = e.what();
          world->abort(e.what());
        }
      });
    for (std::thread& one : running) one.join();
    for (std::string const& what : wrong) EXPECT_EQ(what, "");
  }
};

std::string name_of(testing::TestParamInfo<std::tuple<conformance::test, int>> const& info) {
  return std::get<0>(info.param).name + std::string("_") + std::to_string(std::get<1>(info.param));
}

class every_communicator : public testing::TestWithParam<std::tuple<conformance::test, int>> {};

TEST_P(every_communicator, passes_every_conformance_test) {
  auto const [test, ranks] = GetParam();
  launch<threads>(ranks, {.deadline = 60s}, test.run);
}

INSTANTIATE_TEST_SUITE_P(conformance, every_communicator,
                         testing::Combine(testing::ValuesIn(conformance::all_tests),
                                          testing::Values(1, 2, 3, 4, 5, 8)),
                         name_of);

class communicator_with_a_progress_thread
    : public testing::TestWithParam<std::tuple<conformance::test, int>> {};

TEST_P(communicator_with_a_progress_thread, passes_every_conformance_test) {
  auto const [test, ranks] = GetParam();
  threads_with_movers::launch(ranks, test.run);
}

INSTANTIATE_TEST_SUITE_P(conformance, communicator_with_a_progress_thread,
                         testing::Combine(testing::ValuesIn(conformance::all_tests),
                                          testing::ValuesIn(long_tests() ? std::vector{1, 2, 3, 4, 5, 8}
                                                                         : std::vector{2, 3})),
                         name_of);

class self_communicator : public testing::TestWithParam<conformance::test> {};

TEST_P(self_communicator, passes_every_conformance_test) { launch<self>({.deadline = 60s}, GetParam().run); }

INSTANTIATE_TEST_SUITE_P(conformance, self_communicator, testing::ValuesIn(conformance::all_tests),
                         [](auto const& one) { return std::string(one.param.name); });

TEST(thread_ranks, support_programs_with_their_own_threads) {
  thread_ranks hub(3);
  EXPECT_EQ(hub.size(), 3);
  std::vector<int> sums(3);
  std::vector<std::thread> running;
  for (int rank = 0; rank < 3; ++rank)
    running.emplace_back([&, rank] {
      auto const world = hub.make(rank);
      EXPECT_EQ(world->name(), "threads");
      EXPECT_EQ(world->rank(), rank);
      EXPECT_EQ(world->size(), 3);
      sums[static_cast<std::size_t>(rank)] = conformance::sum_of_ranks(*world, rank);
    });
  for (std::thread& one : running) one.join();
  EXPECT_EQ(sums, (std::vector<int>{3, 3, 3}));
  EXPECT_FALSE(hub.trouble());
}

TEST(thread_ranks, refuse_invalid_numbers_of_ranks_and_deadlines) {
  EXPECT_THROW(thread_ranks(0), setting_error);
  EXPECT_THROW(thread_ranks(-1), setting_error);
  thread_ranks hub(2);
  EXPECT_THROW(hub.make(-1), setting_error);
  EXPECT_THROW(hub.make(2), setting_error);
  auto const first = hub.make(0);
  EXPECT_THROW(hub.make(0), setting_error);
  EXPECT_THROW(thread_ranks(1, {.deadline = 0ms}).make(0), setting_error);
  EXPECT_THROW(thread_ranks(1, {.deadline = std::chrono::milliseconds::max()}).make(0), setting_error);
}

TEST(thread_ranks, release_a_barrier_only_after_all_ranks_arrive) {
  constexpr int rounds = 200;
  std::atomic<int> come{0};
  launch<threads>(3, {.deadline = 60s}, [&](communicator& world) {
    for (int round = 1; round <= rounds; ++round) {
      come.fetch_add(1);
      world.barrier();
      conformance::require(come.load() >= 3 * round, "somebody was still outside");
    }
  });
  EXPECT_EQ(come.load(), 3 * rounds);
}

TEST(thread_ranks, compute_the_same_bits_in_repeated_allreduces) {
  auto const run = [] {
    std::vector<float> result;
    launch<threads>(4, {.deadline = 60s}, [&](communicator& world) {
      std::vector<float> all(10'007);
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = conformance::uneven(world.rank(), i);
      world.allreduce(std::span(all));
      if (world.rank() == 2) result = all;
    });
    return result;
  };
  std::vector<float> const first = run();
  for (int again = 0; again < 5; ++again) {
    std::vector<float> const more = run();
    ASSERT_EQ(std::memcmp(first.data(), more.data(), first.size() * sizeof(float)), 0);
  }
}

TEST(thread_ranks, split_on_two_threads_of_each_rank_concurrently) {
  launch<threads>(3, {.deadline = 60s}, [](communicator& world) {
    auto const twin = world.duplicate();
    std::string wrong;
    std::thread beside([&] {
      try {
        for (int round = 0; round < 50; ++round) conformance::sum_of_ranks(*twin->duplicate(), 1);
      } catch (std::exception const& e) {
        wrong = e.what();
      }
    });
    int sums = 0;
    for (int round = 0; round < 50; ++round) sums += conformance::sum_of_ranks(*world.split(0, 0), 1);
    beside.join();
    conformance::require(wrong.empty(), wrong);
    conformance::require(sums == 150, "messages were mixed");
  });
}

TEST(thread_ranks, never_read_a_buffer_after_abandon) {
  for (int round = 0; round < 40; ++round) {
    auto const hub = std::make_shared<detail::thread_hub>(2, "threads");
    detail::thread_transport sender(hub, 0), receiver(hub, 1);
    std::vector<std::uint8_t> text(4'000'000, 1), came(text.size());
    sender.send(1, detail::channel::peer, 5, std::as_bytes(std::span(text)));
    std::atomic<bool> reading{false}, read{false};
    std::thread other([&] {
      auto const one = receiver.receive(0, detail::channel::peer, 5, std::as_writable_bytes(std::span(came)));
      reading.store(true);
      read.store(receiver.done(one));
    });
    while (!reading.load()) std::this_thread::yield();
    for (int k = 0; k < round * 100; ++k)
      detail::pause_core();  // so that it is read now, was read, or will not be read
    sender.abandon();
    std::fill(text.end() - 1000, text.end(), std::uint8_t{2});  // read last
    other.join();
    EXPECT_EQ(std::count(came.begin(), came.end(), read.load() ? 1 : 0),
              static_cast<std::ptrdiff_t>(came.size()));
  }
}

TEST(thread_ranks, do_not_probe_messages_with_a_pending_receive) {
  auto const hub = std::make_shared<detail::thread_hub>(2, "threads");
  detail::thread_transport sender(hub, 0), receiver(hub, 1);
  std::byte first{1}, second[2]{}, came{};
  auto const wanted = receiver.receive(0, detail::channel::peer, 5, {&came, 1});
  sender.send(1, detail::channel::peer, 5, {&first, 1});
  EXPECT_FALSE(receiver.probe(0, detail::channel::peer, 5));
  sender.send(1, detail::channel::peer, 5, second);
  ASSERT_TRUE(receiver.probe(-1, detail::channel::peer, 5));
  EXPECT_EQ(receiver.probe(-1, detail::channel::peer, 5)->bytes, 2U);
  EXPECT_TRUE(receiver.done(wanted));
  EXPECT_EQ(came, first);
  EXPECT_EQ(receiver.probe(0, detail::channel::peer, 5)->bytes, 2U);
}

TEST(thread_ranks, report_their_progress_at_the_time_of_the_query) {
  auto const hub = std::make_shared<detail::thread_hub>(2, "threads");
  detail::thread_transport asking(hub, 0), late(hub, 1);
  late.note({812, 4});
  std::thread comes([&] {
    while (hub->of(0).last_activity.load() == 0) std::this_thread::yield();  // the query has been sent
    late.note({812, 5});
    late.make_progress();
  });
  auto const all = asking.query_ranks(30s);
  comes.join();
  EXPECT_TRUE(all[1].answers);
  EXPECT_EQ(all[1].where, (rank_progress{812, 4}));
}

TEST(self, has_one_rank_and_completes_operations_immediately) {
  auto const world = make_self();
  EXPECT_EQ(world->name(), "self");
  EXPECT_EQ(world->size(), 1);
  float x = 3;
  pending_operation sum = world->start_allreduce(std::span(&x, 1), reduction::sum);
  EXPECT_TRUE(sum.done());
  EXPECT_EQ(x, 3);
  EXPECT_TRUE(world->start_barrier().done());
  EXPECT_EQ(world->sent().messages_sent, 0U);
}

}  // namespace thread_ranks_test
