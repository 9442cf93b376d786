// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/communicator/preflight.hpp>
#include <cohort/tcp.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include "tcp_ranks.hpp"

namespace tcp_pages_test {

TEST(docs_launch, the_programs_end_with_status_0) {
  auto const port = cohort::detail::tcp_socket::listening(tcp_test::loopback(), {}).local().port();
  ::setenv("COHORT_JOIN", ("127.0.0.1:" + std::to_string(port)).c_str(), 1);
  ::setenv("COHORT_RANKS", "1", 1);
  // clang-format off
int const status = cohort::launch<cohort::tcp>([](cohort::communicator& world) {
  world.barrier();  // here the program trains, as with launch<threads>
});
  // clang-format on
  // clang-format off
cohort::launch<cohort::tcp>([](cohort::communicator& world) {
  cohort::preflight_report const found = cohort::preflight(world, {.folder = ".", .memory = 1 << 20});
  if (world.rank() == 0) std::fputs(found.text().c_str(), stderr);
  found.require_none();  // throws if there is a problem
});
  // clang-format on
  ::unsetenv("COHORT_JOIN");
  ::unsetenv("COHORT_RANKS");
  EXPECT_EQ(status, 0);
}

}  // namespace tcp_pages_test
