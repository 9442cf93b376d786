// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cohort/communicator/detail/work_queue.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstddef>
#include <thread>
#include <vector>

namespace work_queue_test {

using namespace cohort;
using detail::work_queue;

TEST(work_queue, assigns_each_item_to_a_single_rank) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    std::vector<std::atomic<int>> given(23);
    launch<threads>(ranks, [&](communicator& world) {
      work_queue queue(world, std::ssize(given));
      while (auto const item = queue.next()) ++given[static_cast<std::size_t>(*item)];
      EXPECT_TRUE(queue.join(false));
      queue.release();
    });
    EXPECT_TRUE(std::ranges::all_of(given, [](auto const& times) { return times == 1; })) << ranks;
  }
}

TEST(work_queue, assigns_the_items_of_a_slow_rank_to_the_others) {
  std::atomic<int> of_rank_2{0}, done{0};
  launch<threads>(3, [&](communicator& world) {
    work_queue queue(world, 20);
    while (queue.next()) {
      if (world.rank() == 2)  // works on its first item until the others have finished all other items
        while (queue.make_progress() && done < 19) std::this_thread::yield();
      of_rank_2 += world.rank() == 2;
      ++done;
    }
    EXPECT_TRUE(queue.join(false));
    queue.release();
  });
  EXPECT_LE(of_rank_2, 1);
  EXPECT_EQ(done, 20);
}

TEST(work_queue, stops_all_ranks_if_any_rank_fails) {
  for (int const bad : {0, 1, 2}) {
    launch<threads>(3, [&](communicator& world) {
      work_queue queue(world, 1'000'000'000);
      while (queue.next() && world.rank() != bad) std::this_thread::yield();
      EXPECT_FALSE(queue.join(world.rank() == bad)) << "rank " << world.rank() << ", bad " << bad;
      queue.release();
    });
  }
}

TEST(work_queue, blocks_all_ranks_until_rank_0_has_finished) {
  std::atomic<bool> finished{false};
  launch<threads>(3, [&](communicator& world) {
    work_queue queue(world, 0);
    EXPECT_FALSE(queue.next());
    EXPECT_TRUE(queue.join(false));
    if (world.rank() == 0) finished = true;
    queue.release();
    EXPECT_TRUE(finished);
  });
}

TEST(work_queue, waits_longer_than_the_deadline_for_a_rank_that_works) {
  auto const run = [](int busy, std::chrono::milliseconds work, bool polls) {
    launch<threads>(3, {.deadline = std::chrono::seconds(1)}, [&](communicator& world) {
      work_queue queue(world, 0);
      auto const until = std::chrono::steady_clock::now() + work;
      if (busy == world.rank())
        while (std::chrono::steady_clock::now() < until)
          if (polls) queue.make_progress();
      queue.join(false);
      queue.release();
    });
  };
  run(1, std::chrono::milliseconds(2200), true);
  run(0, std::chrono::milliseconds(2200), true);
  EXPECT_THROW(run(2, std::chrono::milliseconds(2200), false), communicator_error);
}

}  // namespace work_queue_test
