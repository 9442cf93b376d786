// SPDX-License-Identifier: Apache-2.0
// label: slow long
// alone: runs for an hour
// As simulation_test.cpp, with more seeds.
#include "simulated_job.hpp"

namespace tcp_simulation {

TEST(tcp_simulation_of_many_seeds, names_the_ranks_that_have_failed_and_no_others) {
  run_seeds(given_seeds({1, 100'000}), false, 10h, std::thread::hardware_concurrency());
}
TEST(tcp_simulation_of_many_seeds, with_tls_names_the_ranks_that_have_failed_and_no_others) {
  run_seeds(given_seeds({1, 1'000}), true, 10h, std::thread::hardware_concurrency());
}

}  // namespace tcp_simulation
