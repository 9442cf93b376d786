// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <atomic>
#include <cohort/training/stop_on_signal.hpp>
#include <csignal>
#include <optional>
#include <thread>
#include <vector>

namespace stop_on_signal_test {

using cohort::stop_on_signal;

struct sigaction action_for_sigterm() {
  struct sigaction now {};
  ::sigaction(SIGTERM, nullptr, &now);
  return now;
}

stack_t signal_stack() {
  stack_t now{};
  ::sigaltstack(nullptr, &now);
  return now;
}

TEST(stop_on_signal, records_a_signal_while_any_object_exists) {
  {
    stop_on_signal const one;
    EXPECT_FALSE(stop_on_signal::arrived());
    std::raise(SIGTERM);
    stop_on_signal const another;
    EXPECT_TRUE(stop_on_signal::arrived());
  }
  stop_on_signal const later;
  EXPECT_FALSE(stop_on_signal::arrived());
}

TEST(stop_on_signal, restores_the_former_action_after_a_signal) {
  auto const former = action_for_sigterm().sa_handler;
  {
    stop_on_signal const one;
    EXPECT_NE(action_for_sigterm().sa_handler, former);
    std::raise(SIGTERM);
  }
  EXPECT_EQ(action_for_sigterm().sa_handler, former);
}

TEST(stop_on_signal, treats_simultaneous_signals_as_a_single_request) {
  stop_on_signal const one;
  std::raise(SIGTERM);
  std::raise(SIGTERM);
  EXPECT_TRUE(stop_on_signal::arrived());
}

TEST(stop_on_signal, ends_the_process_at_a_later_signal) {
  EXPECT_EXIT(
      {
        stop_on_signal const one;
        while (true) std::raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(stop_on_signal, stops_at_an_interrupt_from_the_terminal) {
  struct sigaction former {
  }, after{};
  ::sigaction(SIGINT, nullptr, &former);
  {
    stop_on_signal const one;
    std::raise(SIGINT);
    EXPECT_TRUE(stop_on_signal::arrived());
  }
  ::sigaction(SIGINT, nullptr, &after);
  EXPECT_EQ(after.sa_handler, former.sa_handler);
}

TEST(stop_on_signal, ignores_a_signal_that_the_process_ignores) {
  auto const former = std::signal(SIGINT, SIG_IGN);
  {
    stop_on_signal const one;
    std::raise(SIGINT);
    EXPECT_FALSE(stop_on_signal::arrived());
  }
  EXPECT_EQ(std::signal(SIGINT, former), SIG_IGN);
}

TEST(stop_on_signal, keeps_its_handler_while_objects_on_other_threads_begin_and_end) {
  auto const former = action_for_sigterm().sa_handler;
  std::atomic<int> unhandled = 0;
  {
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < 4; ++rank)
      ranks.emplace_back([&] {
        for (int i = 0; i < 5000; ++i) {
          stop_on_signal const one;
          if (action_for_sigterm().sa_handler == former) ++unhandled;
        }
      });
  }
  EXPECT_EQ(unhandled, 0);
  EXPECT_EQ(action_for_sigterm().sa_handler, former);
}

TEST(stop_on_signal, restores_the_signal_stack_when_the_last_object_ends) {
  stack_t const former = signal_stack();
  std::optional<stop_on_signal> first(std::in_place), second(std::in_place);
  EXPECT_FALSE(signal_stack().ss_flags & SS_DISABLE);
  first.reset();
  second.reset();
  EXPECT_EQ(signal_stack().ss_flags, former.ss_flags);
  if (!(former.ss_flags & SS_DISABLE)) {
    EXPECT_EQ(signal_stack().ss_sp, former.ss_sp);
  }
}

}  // namespace stop_on_signal_test
