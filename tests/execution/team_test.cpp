// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cohort/execution/team.hpp>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace team_test {

using namespace std::chrono_literals;
using cohort::team;

TEST(team, runs_each_worker_once) {
  for (int const workers : {1, 2, 3, 7}) {
    team crew(workers);
    EXPECT_EQ(crew.size(), workers);
    std::vector<int> calls(static_cast<std::size_t>(workers));
    for (int run = 0; run < 100; ++run) crew.run([&](int w) { ++calls[static_cast<std::size_t>(w)]; });
    for (int const count : calls) EXPECT_EQ(count, 100);
  }
}

TEST(team, runs_each_worker_on_its_thread_and_worker_0_on_the_caller) {
  team crew(3);
  std::vector<std::thread::id> first(3);
  std::vector<std::thread::id> second(3);
  crew.run([&](int w) { first[static_cast<std::size_t>(w)] = std::this_thread::get_id(); });
  crew.run([&](int w) { second[static_cast<std::size_t>(w)] = std::this_thread::get_id(); });
  EXPECT_EQ(first, second);
  EXPECT_EQ(first[0], std::this_thread::get_id());
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), 3U);
}

TEST(team, makes_stores_before_a_barrier_visible_after_it) {
  for (int const workers : {1, 2, 5}) {
    team crew(workers);
    std::vector<long> cells(
        static_cast<std::size_t>(workers));  // not atomic, so that the sanitizer detects a missing barrier
    std::vector<int> wrong(static_cast<std::size_t>(workers));
    crew.run([&](int w) {
      for (long round = 1; round <= 300; ++round) {
        cells[static_cast<std::size_t>(w)] = round * (w + 1);
        crew.barrier(w);
        long const sum = std::accumulate(cells.begin(), cells.end(), 0L);
        if (sum != round * workers * (workers + 1) / 2) ++wrong[static_cast<std::size_t>(w)];
        crew.barrier(w);
      }
    });
    for (int const count : wrong) EXPECT_EQ(count, 0);
  }
}

TEST(team, runs_after_workers_have_slept) {
  // Worker 0 arrives so late that the other workers have reached the blocking part of their wait.
  team crew(3);
  for (int run = 0; run < 3; ++run) {
    std::atomic<int> passed{0};
    crew.run([&](int w) {
      if (w == 0) {
        auto const until = std::chrono::steady_clock::now() + 5ms;
        while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
      }
      crew.barrier(w);
      passed.fetch_add(1);
    });
    EXPECT_EQ(passed.load(), 3);
  }
}

TEST(team, rethrows_the_lowest_workers_exception_and_stays_usable) {
  team crew(4);
  for (int run = 0; run < 20; ++run) {
    try {
      crew.run([&](int w) {
        if (w >= 2) throw std::runtime_error("worker " + std::to_string(w));
      });
      FAIL() << "nothing thrown";
    } catch (std::runtime_error const& e) {
      EXPECT_STREQ(e.what(), "worker 2");
    }
  }
  std::atomic<int> calls{0};
  crew.run([&](int) { calls.fetch_add(1); });
  EXPECT_EQ(calls.load(), 4);
}

TEST(team, releases_the_others_from_a_barrier_when_one_throws) {
  for (int const thrower : {0, 1, 2}) {
    team crew(3, {.deadline = 60s});
    std::atomic<int> passed{0};
    EXPECT_THROW(crew.run([&](int w) {
      if (w == thrower) throw std::logic_error("here");
      crew.barrier(w);
      passed.fetch_add(1);
    }),
                 std::logic_error);
    EXPECT_EQ(passed.load(), 0);
    crew.run([&](int w) {
      crew.barrier(w);
      passed.fetch_add(1);
    });
    EXPECT_EQ(passed.load(), 3);
  }
}

TEST(team, reports_the_worker_that_misses_a_barrier) {
  team crew(3, {.deadline = 50ms});
  std::atomic<bool> others_gave_up{false};
  try {
    crew.run([&](int w) {
      if (w == 1) {
        while (!others_gave_up.load()) std::this_thread::yield();
        return;
      }
      try {
        crew.barrier(w);
      } catch (...) {
        others_gave_up.store(true);
        throw;
      }
    });
    FAIL() << "nothing thrown";
  } catch (cohort::deadline_error const& e) {
    EXPECT_NE(std::string(e.what()).find("barrier"), std::string::npos) << e.what();
    EXPECT_NE(e.why().got.find("worker 1"), std::string::npos) << e.what();
    EXPECT_EQ(e.why().got.find("workers"), std::string::npos) << e.what();
  }
}

TEST(team, reports_a_worker_that_does_not_finish_and_refuses_runs_until_it_has) {
  std::atomic<bool> go_home{false};
  team crew(3, {.deadline = 30ms});
  auto const stuck = [&](int w) {
    while (w == 2 && !go_home.load()) std::this_thread::yield();
  };
  auto const expect_late = [&](auto const& job, char const* what) {
    try {
      crew.run(job);
      FAIL() << "nothing thrown";
    } catch (cohort::deadline_error const& e) {
      EXPECT_NE(e.why().what.find(what), std::string::npos) << e.what();
      EXPECT_NE(e.why().got.find("worker 2"), std::string::npos) << e.what();
    }
  };
  expect_late(stuck, "did not finish");
  expect_late([](int) {}, "cannot run again");
  go_home.store(true);
  // Bounded: each rejected attempt returns at once, so the loop ends soon after worker 2 has returned.
  auto const until = std::chrono::steady_clock::now() + 60s;
  bool ran = false;
  while (!ran && std::chrono::steady_clock::now() < until) {
    try {
      crew.run([](int) {});
      ran = true;
    } catch (cohort::deadline_error const&) {
      std::this_thread::yield();
    }
  }
  EXPECT_TRUE(ran);
}

TEST(team, calls_enter_and_leave_once_per_thread_and_per_run_of_the_caller) {
  std::atomic<int> entered[3]{};
  std::atomic<int> left[3]{};
  {
    team crew(
        3, {.enter = [&](int w) { entered[w].fetch_add(1); }, .leave = [&](int w) { left[w].fetch_add(1); }});
    EXPECT_EQ(entered[0].load(), 0);
    EXPECT_EQ(entered[1].load(), 1);
    EXPECT_EQ(entered[2].load(), 1);
    for (int run = 0; run < 4; ++run) crew.run([](int) {});
    EXPECT_THROW(crew.run([](int w) {
      if (w == 0) throw std::logic_error("x");
    }),
                 std::logic_error);
    EXPECT_EQ(entered[0].load(), 5);
    EXPECT_EQ(left[0].load(), 5);
    EXPECT_EQ(left[1].load(), 0);
  }
  for (int const w : {1, 2}) {
    EXPECT_EQ(entered[w].load(), 1);
    EXPECT_EQ(left[w].load(), 1);
  }
}

TEST(team, rethrows_exceptions_of_enter) {
  EXPECT_THROW(team(3, {.enter =
                            [](int w) {
                              if (w == 2) throw std::out_of_range("no core left");
                            }}),
               std::out_of_range);
}

TEST(team, refuses_a_run_inside_a_run) {
  for (int const workers : {1, 2}) {
    team crew(workers);
    EXPECT_THROW(crew.run([&](int w) {
      if (w == workers - 1) crew.run([](int) {});
    }),
                 cohort::setting_error);
    std::atomic<int> calls{0};
    crew.run([&](int) { calls.fetch_add(1); });
    EXPECT_EQ(calls.load(), workers);
  }
}

TEST(team, runs_for_callers_on_different_threads) {
  team crew(2);
  int sum[2]{};
  auto const add = [&] { crew.run([&](int w) { sum[w] += w + 1; }); };
  add();
  std::thread(add).join();
  EXPECT_EQ(sum[0], 2);
  EXPECT_EQ(sum[1], 4);
}

TEST(team, refuses_invalid_settings) {
  EXPECT_THROW(team(0), cohort::setting_error);
  EXPECT_THROW(team(-1), cohort::setting_error);
  EXPECT_THROW(team(2, {.deadline = 0ms}), cohort::setting_error);
  EXPECT_THROW(team(2, {.deadline = std::chrono::milliseconds::max()}), cohort::setting_error);
}

TEST(team, runs_inside_the_workers_of_another_team) {
  team outer(2);
  std::atomic<int> calls{0};
  outer.run([&](int) {
    team inner(2);
    for (int i = 0; i < 10; ++i)
      inner.run([&](int w) {
        inner.barrier(w);
        calls.fetch_add(1);
      });
  });
  EXPECT_EQ(calls.load(), 40);
}

}  // namespace team_test
