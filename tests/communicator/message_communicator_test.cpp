// SPDX-License-Identifier: Apache-2.0
// covers: communicator/communicator
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cohort/communicator/detail/thread_transport.hpp>
#include <cohort/communicator/message_communicator.hpp>
#include <cohort/communicator/thread_ranks.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "conformance.hpp"
#include "with_a_thread.hpp"

namespace message_communicator_test {

using namespace cohort;
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

/// Both ways of making progress: by the waiting threads, or by a dedicated thread.
class message_communicator : public testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<communicator> make(std::shared_ptr<detail::thread_hub> const& hub, int rank,
                                     communicator_settings const& settings = {.deadline = 60s}) const {
    std::unique_ptr<detail::transport> wire = std::make_unique<detail::thread_transport>(hub, rank);
    if (GetParam()) wire = std::make_unique<with_a_thread>(std::move(wire));
    return make_communicator(std::move(wire), settings);
  }
  /// Runs the body on each rank. Returns the text of each rank's exception.
  std::vector<std::string> run(int ranks, communicator_settings settings,
                               std::function<void(communicator&)> body) {
    auto const hub = std::make_shared<detail::thread_hub>(ranks, "threads");
    std::vector<std::string> thrown(static_cast<std::size_t>(ranks));
    std::vector<std::thread> running;
    for (int rank = 0; rank < ranks; ++rank)
      running.emplace_back([&, rank] {
        auto const world = make(hub, rank, settings);
        try {
          body(*world);
        } catch (communicator_error const& e) {
          thrown[static_cast<std::size_t>(rank)] = e.what();
        } catch (std::exception const& e) {
          ADD_FAILURE() << e.what();
          world->abort(e.what());
        }
      });
    for (std::thread& one : running) one.join();
    return thrown;
  }
};
INSTANTIATE_TEST_SUITE_P(moved_by, message_communicator, testing::Bool(),
                         [](auto const& info) { return info.param ? "its_own_thread" : "those_who_wait"; });

void linger_until(std::function<bool()> const& over) {
  auto const limit = clock_type::now() + 60s;
  while (!over() && clock_type::now() < limit) std::this_thread::yield();
}

TEST_P(message_communicator, reports_an_absent_rank_on_every_rank_within_the_deadline) {
  constexpr auto deadline = 300ms;
  std::atomic<int> gave_up{0};
  auto const begin = clock_type::now();
  auto const thrown = run(4, {.deadline = deadline}, [&](communicator& world) {
    float x = 1;
    world.allreduce(std::span(&x, 1));
    world.note({812, world.rank() == 3 ? 4 : 5});
    if (world.rank() == 3) linger_until([&] { return gave_up.load() == 3; });
    try {
      world.allreduce(std::span(&x, 1));
    } catch (...) {
      ++gave_up;
      throw;
    }
  });
  EXPECT_LT(clock_type::now() - begin, deadline + 2s);
  // A dedicated thread answers for a rank that is busy.
  EXPECT_EQ(thrown[0], std::string("rank 3 ")
                           + (GetParam() ? "is at step 812, bucket 4"
                                         : "does not respond; it was last at step 812, bucket 4")
                           + "; the others wait in bucket 5 (allreduce, after 0.3 s)");
  for (std::string const& sentence : thrown) EXPECT_EQ(sentence, thrown[0]);
}

TEST_P(message_communicator, reports_the_rank_for_which_all_others_wait) {
  auto const thrown = run(4, {.deadline = 300ms}, [&](communicator& world) {
    std::byte one{};
    world.note({2, 0});
    if (world.rank() == 3) world.barrier();
    if (world.rank() == 2) world.receive({&one, 1}, 1, 9);
    if (world.rank() == 1) world.wait_for_message(0, 1);
    if (world.rank() == 0)
      linger_until([&] {
        try {
          return world.probe(1, 1).has_value();
        } catch (communicator_error const&) {
          return true;
        }
      });
  });
  for (int rank : {1, 2, 3}) {
    std::string const& sentence = thrown[static_cast<std::size_t>(rank)];
    EXPECT_EQ(sentence.find("rank 0 is at step 2, bucket 0; the others wait in bucket 0 ("), 0U) << sentence;
  }
}

TEST_P(message_communicator, reports_no_rank_as_late_if_ranks_wait_on_different_communicators) {
  auto const thrown = run(2, {.deadline = 100ms}, [&](communicator& world) {
    auto const twin = world.duplicate();
    world.note({1, 1});
    (world.rank() == 0 ? world : *twin).barrier();  // a programming error
  });
  EXPECT_EQ(
      thrown[0],
      "ranks 0, 1 all respond and are at step 1, bucket 1: they wait for different operations (barrier, "
      "after 0.1 s)");
  EXPECT_EQ(thrown[1], thrown[0]);
}

TEST_P(message_communicator, throws_the_same_error_from_every_later_call) {
  auto const thrown = run(2, {.deadline = 60s}, [&](communicator& world) {
    auto const twin = world.duplicate();
    float x = 1;
    pending_operation under_way;
    if (world.rank() == 0) under_way = world.start_allreduce(std::span(&x, 1), reduction::sum);
    if (world.rank() == 1) world.abort("out of cheese");
    std::string first;
    auto const fails = [&](auto const& act) {
      try {
        act();
        ADD_FAILURE() << "nothing thrown";
      } catch (communicator_error const& e) {
        if (first.empty()) first = e.what();
        EXPECT_EQ(e.what(), first);
      }
    };
    if (world.rank() == 0) {
      fails([&] { under_way.wait(); });
      EXPECT_EQ(x, 1);
    }
    fails([&] { world.barrier(); });
    fails([&] { world.start_allreduce(std::span(&x, 1), reduction::sum); });
    fails([&] { world.start_send({}, 0, 0); });
    fails([&] { world.probe(communicator::any_source, 0); });
    fails([&] { world.duplicate(); });
    fails([&] { twin->barrier(); });
    world.note({1, 1});
    world.abort("again");
    throw communicator_error({.what = first});
  });
  EXPECT_EQ(thrown[0], "rank 1 failed: out of cheese");
  EXPECT_EQ(thrown[1], thrown[0]);
}

TEST_P(message_communicator, accepts_spans_of_a_static_extent) {
  auto const thrown = run(2, {.deadline = 60s}, [&](communicator& world) {
    std::array sums{1.5, 2.0 * world.rank()};
    world.allreduce(std::span(sums));
    EXPECT_EQ(sums, (std::array{3.0, 2.0}));
    world.broadcast(std::span(sums).first<1>(), 0);
  });
  EXPECT_EQ(thrown, std::vector<std::string>(2));
}

TEST_P(message_communicator, refuses_a_message_of_another_size) {
  auto const thrown = run(2, {.deadline = 60s}, [&](communicator& world) {
    std::vector<float> x(static_cast<std::size_t>(world.rank() == 0 ? 100 : 200));
    world.allreduce(std::span(x));
    world.barrier();
  });
  EXPECT_NE(thrown[0].find("has the wrong size: expected "), std::string::npos) << thrown[0];
  EXPECT_EQ(thrown[1], thrown[0]);
}

TEST_P(message_communicator, reports_a_late_rank_and_continues) {
  std::vector<std::string> lines;
  auto const thrown =
      run(2, {.deadline = 10s, .log = [&](std::string_view line) { lines.emplace_back(line); }},
          [&](communicator& world) {
            world.note({7, world.rank()});
            if (world.rank() == 0)
              linger_until([limit = clock_type::now() + 1200ms] { return clock_type::now() > limit; });
            world.barrier();
          });
  EXPECT_EQ(thrown, (std::vector<std::string>(2)));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].find("rank 1 waited 1."), 0U) << lines[0];
  EXPECT_NE(lines[0].find(" s for rank 0 (at step 7, bucket 0) in barrier"), std::string::npos) << lines[0];
}

TEST_P(message_communicator, does_not_access_buffers_after_an_exception) {
  // Other ranks may still access this rank's sent messages. Reading freed memory would be detected by the
  // sanitizers.
  for (int round = 0; round < 20; ++round) {
    auto const thrown = run(3, {.deadline = 60s}, [&](communicator& world) {
      auto memory = std::make_unique<std::vector<float>>(300'000, 1.0F);
      pending_operation under_way = world.start_allreduce(std::span(*memory), reduction::sum);
      if (world.rank() == round % 3) world.abort("now");
      try {
        under_way.wait();
        world.barrier();
      } catch (communicator_error const&) {
        std::fill(memory->begin(), memory->end(), 2.0F);
        memory.reset();
        throw;
      }
    });
    EXPECT_EQ(thrown, std::vector<std::string>(3, "rank " + std::to_string(round % 3) + " failed: now"));
  }
}

TEST_P(message_communicator, notifies_other_ranks_if_an_exception_destroys_it) {
  auto const hub = std::make_shared<detail::thread_hub>(2, "threads");
  auto const other = make(hub, 0);
  try {
    auto const world = make(hub, 1);
    throw std::runtime_error("anything");
  } catch (std::runtime_error const&) {
  }
  try {
    other->barrier();
    FAIL() << "nothing thrown";
  } catch (communicator_error const& e) {
    EXPECT_STREQ(e.what(), "rank 1 failed: its communicator was destroyed by an exception");
  }
}

TEST_P(message_communicator, releases_buffers_before_abort_returns) {
  auto const hub = std::make_shared<detail::thread_hub>(2, "threads");
  auto const lent = [&] {  // memory of rank 0 that rank 1 may read
    std::lock_guard const lock(hub->of(1).mutex);
    return hub->of(1).sent.size();
  };
  auto const world = make(hub, 0);
  std::vector<float> memory(1000);
  pending_operation const under_way = world->start_allreduce(std::span(memory), reduction::sum);
  linger_until([&] { return lent() > 0; });
  ASSERT_EQ(lent(), 1U);
  world->abort("now");
  EXPECT_EQ(lent(), 0U);
}

TEST_P(message_communicator, may_be_destroyed_before_pending_operations) {
  auto world = make(std::make_shared<detail::thread_hub>(1, "threads"), 0);
  float x = 1;
  pending_operation sum = world->start_allreduce(std::span(&x, 1), reduction::sum);
  pending_operation barrier = world->start_barrier();
  world.reset();  // their queries would read freed memory, which the sanitizers detect
  EXPECT_TRUE(sum.done());
  sum.wait();
  barrier.wait();
}

TEST_P(message_communicator, returns_the_completion_time_from_a_later_wait) {
  auto const thrown = run(2, {.deadline = 60s}, [&](communicator& world) {
    float x = 1;
    auto const before = clock_type::now();
    pending_operation sum = world.start_allreduce(std::span(&x, 1), reduction::sum);
    linger_until([&] { return sum.done(); });
    auto const seen = clock_type::now();
    world.barrier();
    auto const ended = sum.wait();
    EXPECT_GE(ended, before);
    EXPECT_LE(ended, seen);
    EXPECT_EQ(pending_operation().wait(), clock_type::time_point());
  });
  EXPECT_EQ(thrown, (std::vector<std::string>(2)));
}

TEST_P(message_communicator, allows_a_thread_to_wait_while_another_starts_operations) {
  auto const thrown = run(2, {.deadline = 60s}, [&](communicator& world) {
    constexpr int many = 200;
    std::vector<float> values(many, 1.0F);
    std::vector<pending_operation> under_way(many);
    std::atomic<int> started{0};
    std::thread starter([&] {
      for (int k = 0; k < many; ++k) {
        under_way[static_cast<std::size_t>(k)] =
            world.start_allreduce(std::span(values).subspan(static_cast<std::size_t>(k), 1), reduction::sum);
        started.store(k + 1);
      }
    });
    for (int k = 0; k < many; ++k) {
      linger_until([&] { return started.load() > k; });
      under_way[static_cast<std::size_t>(k)].wait();
    }
    starter.join();
    EXPECT_EQ(values, std::vector<float>(many, 2.0F));
    EXPECT_EQ(world.sent().progress_seconds > 0, GetParam());
  });
  EXPECT_EQ(thrown, (std::vector<std::string>(2)));
}

}  // namespace message_communicator_test
