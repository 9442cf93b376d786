// SPDX-License-Identifier: Apache-2.0
// ranks: 1
// A program that initialised MPI for calls from one thread only.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cohort/mpi.hpp>
#include <string>

namespace {

template <class Action>
std::string refused(Action action) {
  try {
    action();
  } catch (cohort::setting_error const& error) {
    return error.what();
  }
  return "accepted";
}

constexpr char const* sentence =
    "a communicator cannot be made with this MPI: expected MPI_THREAD_MULTIPLE, got MPI_THREAD_FUNNELED";

TEST(make_mpi, refuses_a_thread_level_below_multiple) {
  EXPECT_EQ(refused([] { cohort::make_mpi(MPI_COMM_WORLD); }), sentence);
}

TEST(launch_of_mpi, refuses_a_thread_level_below_multiple) {
  EXPECT_EQ(refused([] { cohort::launch<cohort::mpi>(0, nullptr, [](cohort::communicator&) {}); }), sentence);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int const failed = RUN_ALL_TESTS();
  MPI_Finalize();
  return failed;
}
