// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4
#include "../../communicator/conformance.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cohort/mpi.hpp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "under_mpirun.hpp"

namespace {

cohort::communicator* world = nullptr;

class conformance_of_mpi : public testing::TestWithParam<conformance::test> {};

TEST_P(conformance_of_mpi, holds_in_every_case) {
  on_every_rank(*world, [] { GetParam().run(*world); });
}

INSTANTIATE_TEST_SUITE_P(all, conformance_of_mpi, testing::ValuesIn(conformance::all_tests),
                         [](auto const& one) { return std::string(one.param.name); });

/// Numbers of all magnitudes: their sum depends on the order.
std::vector<float> rough(int rank, std::size_t n) {
  cohort::random_stream const draw(7, "rough", static_cast<std::uint64_t>(rank));
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i)
    x[i] = std::ldexp(draw.uniform01<float>(i) - 0.5F, static_cast<int>(i % 23));
  return x;
}

TEST(sums_of_mpi, are_bitwise_equal_to_sums_over_threads) {
  on_every_rank(*world, [] {
    for (std::size_t const n : {1U, 7U, 1000U, 67'780U}) {
      auto here = rough(world->rank(), n);
      world->allreduce(std::span(here));
      std::vector<float> there;
      cohort::launch<cohort::threads>(world->size(), [&](cohort::communicator& ranks) {
        auto mine = rough(ranks.rank(), n);
        ranks.allreduce(std::span(mine));
        if (ranks.rank() == world->rank()) there = mine;
      });
      ASSERT_EQ(std::memcmp(here.data(), there.data(), n * sizeof(float)), 0) << n;
    }
  });
}

TEST(launch_of_mpi, sets_the_tcp_transfer_flags_of_open_mpi) {
  EXPECT_STREQ(std::getenv("OMPI_MCA_btl_tcp_flags"), "9");
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int failed = 0;
  cohort::communicator_settings settings;
  settings.deadline = test_deadline;
  settings.log = cohort::stderr_sink();
  int const status = cohort::launch<cohort::mpi>(argc, argv, settings, [&](cohort::communicator& ranks) {
    world = &ranks;
    failed = run_tests_on_every_rank(ranks.rank());
  });
  return failed != 0 ? failed : status;
}
