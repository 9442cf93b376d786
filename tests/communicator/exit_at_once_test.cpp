// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <stdio.h>
#include <unistd.h>

#include <atomic>
#include <cohort/communicator/detail/exit_at_once.hpp>
#include <thread>

namespace exit_at_once_test {

/// Prints, lets another thread lock a stream forever, and exits.
[[noreturn]] void end_while_held(FILE* stream) {
  ::alarm(20);
  ::dup2(2, 1);  // death tests read the standard error stream
  std::setvbuf(stdout, nullptr, _IOFBF, 4096);
  std::puts("step 811");
  std::atomic<bool> held{false};
  std::thread([&] {
    ::flockfile(stream);
    held.store(true);
    for (;;) ::pause();
  }).detach();
  while (!held.load()) std::this_thread::yield();
  cohort::detail::exit_at_once(75);
}

TEST(exit_at_once, flushes_output_while_another_stream_is_locked) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(end_while_held(stdin), testing::ExitedWithCode(75), "step 811");
}

TEST(exit_at_once, does_not_wait_for_a_thread_that_holds_the_output) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(end_while_held(stdout), testing::ExitedWithCode(75), "");
}

}  // namespace exit_at_once_test
