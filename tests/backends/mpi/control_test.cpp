// SPDX-License-Identifier: Apache-2.0
// ranks: 2 3
// Errors of MPI in the channel of control messages, injected through MPI's profiling interface.
#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <cohort/mpi/detail/control.hpp>

#include "under_mpirun.hpp"

namespace {

MPI_Request* receive_from_last = nullptr;  // the request of rank 0
bool refuses = false;

int rank_of_this() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int last_rank() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size - 1;
}

}  // namespace

extern "C" int MPI_Irecv(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  if (tag == MPI_ANY_TAG && from == last_rank() && rank_of_this() == 0) receive_from_last = request;
  return PMPI_Irecv(buffer, count, type, from, tag, comm, request);
}
extern "C" int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  return refuses && request == receive_from_last ? MPI_ERR_OTHER : PMPI_Test(request, done, status);
}

namespace {

using namespace std::chrono_literals;

TEST(mpi_control, reports_mpi_errors_to_all_ranks_and_continues) {
  constexpr auto heartbeat = 500ms;
  cohort::detail::mpi_control control(MPI_COMM_WORLD, heartbeat, test_deadline);
  refuses = rank_of_this() == 0;
  auto const limit = std::chrono::steady_clock::now() + test_deadline;
  while (!control.trouble() && std::chrono::steady_clock::now() < limit) control.make_progress();
  ASSERT_TRUE(control.trouble());
  EXPECT_EQ(control.trouble()->text.find("rank 0: MPI_Test failed"), 0U) << control.trouble()->text;
  if (rank_of_this() > 0) {
    EXPECT_TRUE(control.another_rank_failed());
    EXPECT_TRUE(control.query_ranks(heartbeat)[0].answers);
  }
  auto const end = std::chrono::steady_clock::now() + 2 * heartbeat;  // the others send queries meanwhile
  while (std::chrono::steady_clock::now() < end) control.make_progress();
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int const failed = run_tests_on_every_rank(rank_of_this());
  MPI_Finalize();
  return failed;
}
