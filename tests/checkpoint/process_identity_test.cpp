// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cohort/checkpoint/detail/process_identity.hpp>
#include <string>

namespace process_identity_test {

using namespace cohort::detail;

TEST(process_identity, recognises_this_process_only) {
  std::string const mine = process_identity();
  EXPECT_EQ(mine, process_identity());
  EXPECT_NE(mine.find(", process " + std::to_string(::getpid()) + ", started "), std::string::npos) << mine;
  EXPECT_TRUE(is_running_here(mine));
  EXPECT_FALSE(is_running_here(mine + "0"));       // the process number has been reused since then
  EXPECT_FALSE(is_running_here("other-" + mine));  // on another host
  for (char const* text :
       {"", ", process ", ", process , started ", "x, process 1", ", started 1, process 1"})
    EXPECT_FALSE(is_running_here(text)) << text;
}

/// If process 1 does not reap orphans, as in many containers, an ended process remains in /proc as a zombie.
TEST(process_identity, treats_a_zombie_process_as_ended) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  pid_t const child = ::fork();
  if (child == 0) {
    std::string const mine = process_identity();
    ::_exit(::write(ends[1], mine.data(), mine.size()) == static_cast<ssize_t>(mine.size()) ? 0 : 1);
  }
  ASSERT_GT(child, 0);
  ::close(ends[1]);
  std::array<char, 512> text{};
  ssize_t const length = ::read(ends[0], text.data(), text.size());
  ::close(ends[0]);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);  // it stays a zombie
  EXPECT_EQ(ended.si_status, 0);
  EXPECT_FALSE(is_running_here({text.data(), static_cast<std::size_t>(length)}));
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

}  // namespace process_identity_test
