// SPDX-License-Identifier: Apache-2.0
// label: slow
// ranks: 1 2 3 4
// Strategies give the same guarantees between processes as between threads.
#include <cohort/mpi.hpp>
#include "../../strategy/process_cases.hpp"
#include "under_mpirun.hpp"

namespace {

using namespace cohort_test;

communicator* world = nullptr;

class strategies_over_mpi : public testing::TestWithParam<rank_case> {};
TEST_P(strategies_over_mpi, fulfil_their_contracts) {
  on_every_rank(*world, [] { GetParam().run(*world); });
}
INSTANTIATE_TEST_SUITE_P(all, strategies_over_mpi, testing::ValuesIn(process_cases),
                         [](auto const& one) { return std::string(one.param.name); });

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int failed = 0;
  int const status = launch<mpi>(argc, argv, {.deadline = test_deadline}, [&](communicator& all) {
    world = &all;
    failed = run_tests_on_every_rank(all.rank());
  });
  return failed != 0 ? failed : status;
}
