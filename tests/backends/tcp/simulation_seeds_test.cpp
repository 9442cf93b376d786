// SPDX-License-Identifier: Apache-2.0
// label: slow long
// alone: runs for an hour
// Like simulation_test.cpp, with more seeds.
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include "simulated_job.hpp"

namespace tcp_simulation {

/// Runs seeds in processes, one after another: the engine of a communicator that has failed is kept until its
/// process ends.
void run_in_processes(seed_range all, bool encrypts) {
  ASSERT_LE(all.first, all.last);
  constexpr std::uint64_t seeds_of_process = 2'000;
  for (std::uint64_t first = all.first; first <= all.last; first += seeds_of_process) {
    std::uint64_t const last = std::min(all.last, first + seeds_of_process - 1);
    std::fflush(stdout);
    pid_t const child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      run_seeds({first, last}, encrypts, 10h, std::thread::hardware_concurrency());
      std::fflush(stdout);
      ::_exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "seeds " << first << " to " << last;
  }
}

TEST(tcp_simulation_of_many_seeds, reports_exactly_the_failed_ranks) {
  run_in_processes(given_seeds({1, 100'000}), false);
}
TEST(tcp_simulation_of_many_seeds, with_tls_reports_exactly_the_failed_ranks) {
  run_in_processes(given_seeds({1, 1'000}), true);
}

}  // namespace tcp_simulation
