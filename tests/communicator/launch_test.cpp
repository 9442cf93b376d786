// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cohort/communicator/launch.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace launch_test {

using namespace cohort;
using namespace std::chrono_literals;

TEST(launch, runs_the_body_once_on_every_rank) {
  std::vector<int> calls(4);
  EXPECT_EQ(launch<threads>(4, [&](auto& world) { ++calls[static_cast<std::size_t>(world.rank())]; }), 0);
  EXPECT_EQ(calls, (std::vector<int>{1, 1, 1, 1}));
  EXPECT_EQ(launch<self>([&](auto& world) { calls[0] += world.size(); }), 0);
  EXPECT_EQ(calls[0], 2);
}

TEST(launch, passes_the_settings_to_the_communicator) {
  launch<threads>(2, {.deadline = 7s}, [](communicator& world) { EXPECT_EQ(world.settings().deadline, 7s); });
  launch<self>({.deadline = 8s}, [](communicator& world) { EXPECT_EQ(world.settings().deadline, 8s); });
  EXPECT_THROW(launch<threads>(0, [](communicator&) {}), setting_error);
  EXPECT_THROW(launch<threads>(2, {.deadline = 0s}, [](communicator&) {}), setting_error);
}

TEST(launch, rethrows_a_ranks_exception_and_notifies_the_others) {
  for (int const thrower : {0, 1, 2}) {
    std::vector<std::string> heard(3);
    try {
      launch<threads>(3, [&](communicator& world) {  // of 120 s, which must not pass
        if (world.rank() == thrower) throw std::out_of_range("no such file");
        try {
          world.barrier();
        } catch (communicator_error const& e) {
          heard[static_cast<std::size_t>(world.rank())] = e.what();
          throw;
        }
      });
      FAIL() << "nothing thrown";
    } catch (std::out_of_range const& e) {
      EXPECT_STREQ(e.what(), "no such file");
    }
    for (int rank = 0; rank < 3; ++rank)
      EXPECT_EQ(heard[static_cast<std::size_t>(rank)],
                rank == thrower ? "" : "rank " + std::to_string(thrower) + " failed: no such file");
  }
}

TEST(launch, rethrows_the_communicator_error_that_caused_another_exception) {
  try {
    launch<threads>(2, [&](communicator& world) {
      if (world.rank() == 1) throw communicator_error({.what = "its GPU is lost"});
      try {
        world.barrier();
      } catch (communicator_error const&) {
        throw std::runtime_error("cannot finish");
      }
    });
    FAIL() << "nothing thrown";
  } catch (communicator_error const& e) {
    EXPECT_EQ(e.exit_status(), 75);
    EXPECT_STREQ(e.what(), "its GPU is lost");
  }
}

TEST(launch, uses_the_exit_status_of_the_cause_on_all_ranks) {
  std::vector<int> statuses(3);
  EXPECT_THROW(launch<threads>(3,
                               [&](communicator& world) {
                                 if (world.rank() == 2) throw std::runtime_error("disk full");
                                 try {
                                   world.barrier();
                                 } catch (communicator_error const& e) {
                                   statuses[static_cast<std::size_t>(world.rank())] = e.exit_status();
                                   throw;
                                 }
                               }),
               std::runtime_error);
  EXPECT_EQ(statuses, (std::vector{1, 1, 0}));
}

TEST(launch, classifies_a_message_of_the_wrong_size_as_a_program_error) {
  try {
    launch<threads>(2, [](communicator& world) {
      std::vector<float> x(world.rank() == 0 ? 100 : 200);
      world.allreduce(std::span(x));
    });
    FAIL() << "nothing thrown";
  } catch (communicator_error const& e) {
    EXPECT_EQ(e.exit_status(), 1) << e.what();
  }
}

TEST(launch, reports_exceptions_not_derived_from_std_exception) {
  try {
    launch<threads>(2, [&](communicator& world) {
      if (world.rank() == 1) throw 7;
      EXPECT_THROW(world.barrier(), communicator_error);
    });
    FAIL() << "nothing thrown";
  } catch (int what) {
    EXPECT_EQ(what, 7);
  }
}

TEST(launch, rethrows_the_stall_report_if_there_is_no_other_error) {
  try {
    launch<threads>(3, {.deadline = 100ms}, [](communicator& world) {
      world.note({4, 1 + (world.rank() < 2)});
      if (world.rank() < 2) world.barrier();
    });
    FAIL() << "nothing thrown";
  } catch (communicator_error const& e) {
    EXPECT_STREQ(e.what(),
                 "rank 2 has ended; it was last at step 4, bucket 1; the others wait in bucket 2 (barrier, "
                 "after 0.1 s)");
  }
}

TEST(launch, fails_before_the_deadline_if_all_other_ranks_have_ended) {
  try {
    launch<threads>(3, {.deadline = 60s}, [](communicator& world) {
      world.barrier();
      if (world.rank() == 1) world.barrier();
    });
    FAIL() << "nothing thrown";
  } catch (communicator_error const& e) {
    std::string const text = e.what();
    EXPECT_TRUE(text.starts_with("ranks 0, 2 have ended")) << text;
    EXPECT_EQ(text.find("after 60"), std::string::npos) << text;
  }
}

TEST(launch, throws_after_an_abort_even_if_the_body_returns) {
  EXPECT_THROW(launch<threads>(2, [](communicator& world) { world.abort("enough"); }), communicator_error);
}

TEST(launch, fails_if_a_rank_ends_with_an_unreceived_message) {
  std::byte one{};
  try {
    launch<threads>(2, {.deadline = 100ms}, [&](communicator& world) {
      if (world.rank() == 0) world.start_send({&one, 1}, 1, 0);
    });
    FAIL() << "nothing thrown";
  } catch (communicator_error const& e) {
    EXPECT_NE(std::string(e.what()).find("rank 1 has ended"), std::string::npos) << e.what();
  }
}

TEST(launch, ends_the_process_when_a_rank_hangs) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  static constexpr auto deadline = 1500ms;
  auto const hang = [](auto act) {
    launch<threads>(3, {.deadline = deadline}, [&](communicator& world) {
      if (world.rank() == 1)
        for (std::atomic<bool> never{false}; !never.load();) std::this_thread::yield();
      act(world);
    });
  };
  auto const begin = std::chrono::steady_clock::now();
  EXPECT_EXIT(
      hang([](communicator& world) { world.barrier(); }), testing::ExitedWithCode(75),
      "rank 1 does not respond.*\nrank 0: rank 1 does not respond.*\nrank 1 has not ended; exiting the "
      "process");
  auto const took = std::chrono::steady_clock::now() - begin;
  EXPECT_GT(took, deadline + 2s);
  EXPECT_LT(took, deadline + 3500ms);
  EXPECT_EXIT(hang([](communicator& world) {
                if (world.rank() == 2) throw std::runtime_error("disk full");
                world.barrier();
              }),
              testing::ExitedWithCode(1),
              "rank 2 failed: disk full\nrank 0: rank 2 failed.*\nrank 1 has not ended.*\nrank "
              "2: disk full");
}

TEST(launch, logs_a_failure_while_another_rank_still_runs) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto const act = [] {
    try {
      launch<threads>(2, {.deadline = 60s}, [&](communicator& world) {
        if (world.rank() == 1) throw std::runtime_error("disk full");
        for (auto const end = std::chrono::steady_clock::now() + 1500ms;
             std::chrono::steady_clock::now() < end;)
          std::this_thread::yield();
      });
    } catch (std::runtime_error const&) {
      std::_Exit(3);
    }
  };
  EXPECT_EXIT(act(), testing::ExitedWithCode(3), "^rank 1 failed: disk full\n$");
}

}  // namespace launch_test
